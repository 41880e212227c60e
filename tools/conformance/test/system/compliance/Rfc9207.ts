/** RFC 9207: the issuer in the answer to an authorization request. */
import { expect } from "@effect/vitest"
import { issuer, locationOf } from "./Probe.ts"
import { holds, notApplicable, type Requirement } from "./Requirement.ts"

export const requirements: ReadonlyArray<Requirement> = [
  holds("2", "MUST", "every response with a code names the issuer, once", async (probe) => {
    const back = await probe.consent(await probe.application(), { state: "s" })
    expect(back.searchParams.getAll("iss")).toEqual([issuer])
  }),
  holds("2", "MUST", "every response with an error names the issuer, once", async (probe) => {
    const client = await probe.application()
    const answers = [
      await probe.consent(client, {}, "deny"),
      locationOf(await probe.ask(client, { scope: "bogus" })),
      locationOf(await probe.ask(client, { response_type: "token" }))
    ]
    for (const { searchParams } of answers) {
      expect(searchParams.has("error")).toBe(true)
      expect(searchParams.getAll("iss")).toEqual([issuer])
    }
  }),
  holds("2", "MUST", "the issuer is an https URL without query and fragment", async (probe) => {
    const iss = (await probe.consent(await probe.application())).searchParams.get("iss") ?? ""
    expect(iss).toMatch(/^https:\/\/[^?#]+$/)
  }),
  holds("2.3", "MUST", "it equals the issuer of the metadata exactly", async (probe) => {
    const iss = (await probe.consent(await probe.application())).searchParams.get("iss")
    expect(iss).toBe((await probe.metadata()).body["issuer"])
  }),
  holds(
    "2.3",
    "MUST",
    "the metadata announces the parameter",
    async (probe) => expect((await probe.metadata()).body["authorization_response_iss_parameter_supported"]).toBe(true)
  ),
  notApplicable("2.4", "MUST NOT", "`iss` is sent in addition to a JARM response", "responses are not signed")
]
