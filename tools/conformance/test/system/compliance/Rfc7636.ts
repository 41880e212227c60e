/** RFC 7636: PKCE. */
import { expect } from "@effect/vitest"
import { expectError, expectRedirectedError } from "./Expectations.ts"
import { callback, type Client, type Probe } from "./Probe.ts"
import { holds, notApplicable, type Requirement } from "./Requirement.ts"

/** The pair of RFC 7636, appendix B. */
const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

const s256 = { code_challenge: challenge, code_challenge_method: "S256" }

const requiring = (probe: Probe): Promise<Client> => probe.application([callback], { require_pkce: true })

export const requirements: ReadonlyArray<Requirement> = [
  holds("4.2", "MUST", "S256 is supported", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client, s256)
    expect((await probe.exchange(client, code, { code_verifier: verifier })).status).toBe(200)
  }),
  holds("4.4", "MUST", "a code belongs to the challenge of its request", async (probe) => {
    const client = await probe.application()
    const other = "x".repeat(43)
    const [plain, proved] = [await probe.code(client), await probe.code(client, s256)]
    expectError(await probe.exchange(client, proved, { code_verifier: other }), 400, "invalid_grant")
    expectError(await probe.exchange(client, plain, { code_verifier: verifier }), 400, "invalid_grant")
    expect((await probe.exchange(client, proved, { code_verifier: verifier })).status).toBe(200)
  }),
  holds("4.4", "MUST NOT", "the response contains the challenge", async (probe) => {
    const back = await probe.consent(await probe.application(), s256)
    expect(back.href).not.toContain(challenge)
    expect(back.searchParams.has("code")).toBe(true)
  }),
  holds("4.4.1", "MUST", "a client that must use PKCE gets `invalid_request` without a challenge", async (probe) => {
    const location = expectRedirectedError(await probe.ask(await requiring(probe)), callback, "invalid_request")
    expect(location.searchParams.get("error_description")).toContain("code_challenge")
  }),
  holds("4.4.1", "MUST", "an unsupported method is `invalid_request`", async (probe) => {
    const client = await probe.application()
    for (const code_challenge_method of ["s256", "S512", "none"]) {
      const page = await probe.ask(client, { ...s256, code_challenge_method })
      expectRedirectedError(page, callback, "invalid_request")
    }
  }),
  holds("4.3", "MUST", "the default method of a challenge is `plain`", async (probe) => {
    const page = await probe.ask(await probe.application(), { code_challenge: verifier })
    expectRedirectedError(page, callback, "invalid_request")
  }),
  holds("4.3", "MUST", "a challenge that is not a possible S256 value is refused", async (probe) => {
    const client = await probe.application()
    for (const code_challenge of [challenge.slice(1), `${challenge}=`, `${challenge}A`, challenge.replace("-", "+")]) {
      expectRedirectedError(await probe.ask(client, { ...s256, code_challenge }), callback, "invalid_request")
    }
  }),
  holds("4.6", "MUST", "a wrong verifier is `invalid_grant`", async (probe) => {
    const client = await probe.application()
    const code = await probe.code(client, s256)
    for (const code_verifier of [challenge, verifier.slice(1), verifier.toLowerCase(), `${verifier}=`]) {
      expectError(await probe.exchange(client, code, { code_verifier }), 400, "invalid_grant")
    }
  }),
  holds("4.6", "MUST", "a code with a challenge is refused without a verifier", async (probe) => {
    const client = await probe.application()
    expectError(await probe.exchange(client, await probe.code(client, s256)), 400, "invalid_grant")
    const strict = await requiring(probe)
    expectError(await probe.exchange(strict, await probe.code(strict, s256)), 400, "invalid_request")
  }),
  holds("7.2", "SHOULD NOT", "`plain` is used", async (probe) => {
    const plain = { code_challenge: verifier, code_challenge_method: "plain" }
    expectRedirectedError(await probe.ask(await probe.application(), plain), callback, "invalid_request")
    expect((await probe.metadata()).body["code_challenge_methods_supported"]).toEqual(["S256"])
  }),
  notApplicable(
    "4.1",
    "MUST",
    "the verifier has 43 to 128 characters and enough entropy",
    "the client creates it; the server gets its hash"
  )
]
