/** RFC 8414: metadata. */
import { expect } from "@effect/vitest"
import { issuer, type Probe } from "./Probe.ts"
import { elsewhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

const endpointsOf = async (probe: Probe): Promise<ReadonlyArray<string>> =>
  Object.entries((await probe.metadata()).body)
    .filter(([name]) => name.endsWith("_endpoint"))
    .map(([, value]) => String(value))

export const requirements: ReadonlyArray<Requirement> = [
  holds("2", "MUST", "`issuer` is an https URL without query and fragment", async (probe) => {
    const url = new URL(String((await probe.metadata()).body["issuer"]))
    expect([url.protocol, url.search, url.hash]).toEqual(["https:", "", ""])
  }),
  holds(
    "2",
    "MUST",
    "the metadata has the authorization endpoint, token endpoint and response types",
    async (probe) => {
      expect((await probe.metadata()).body).toMatchObject({
        authorization_endpoint: `${issuer}/oauth/authorize`,
        token_endpoint: `${issuer}/oauth/token`,
        response_types_supported: ["code"]
      })
    }
  ),
  holds("2", "RECOMMENDED", "the metadata has the scopes, and all of them work", async (probe) => {
    const scopes = (await probe.metadata()).body["scopes_supported"]
    const scope = Array.isArray(scopes) ? scopes.join(" ") : ""
    expect(scope).toMatch(/./)
    expect((await probe.consent(await probe.application(), { scope })).searchParams.get("scope")).toBe(scope)
  }),
  holds(
    "2",
    "MUST",
    "a missing field has its default: grant types, response modes and authentication are correct",
    async (probe) => {
      const { body } = await probe.metadata()
      expect(body).toMatchObject({
        grant_types_supported: ["authorization_code", "refresh_token"],
        response_modes_supported: ["query"],
        token_endpoint_auth_methods_supported: ["client_secret_post", "client_secret_basic"],
        revocation_endpoint_auth_methods_supported: ["client_secret_post", "client_secret_basic"],
        introspection_endpoint_auth_methods_supported: ["client_secret_post", "client_secret_basic"]
      })
    }
  ),
  holds("3", "MUST", "the metadata is JSON at the well-known path, by GET", async (probe) => {
    const answer = await probe.metadata()
    expect(answer.status).toBe(200)
    expect(answer.headers.get("content-type")).toMatch(/^application\/json\b/)
    const posted = await probe.post("/.well-known/oauth-authorization-server", {})
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"])
  }),
  holds("3.1", "MUST", "every endpoint in the metadata exists", async (probe) => {
    const endpoints = await endpointsOf(probe)
    expect(endpoints.length).toBe(4)
    for (const endpoint of endpoints) {
      expect(endpoint.startsWith(`${issuer}/`)).toBe(true)
      const answer = await probe.request(endpoint.slice(issuer.length), { method: "PUT" })
      expect(answer.status, endpoint).toBe(405)
    }
  }),
  holds("3.2", "MUST", "several values are arrays, and none of them is empty", async (probe) => {
    for (const [name, value] of Object.entries((await probe.metadata()).body)) {
      expect(Array.isArray(value), name).toBe(name.endsWith("_supported") && typeof value !== "boolean")
      expect(value, name).not.toEqual([])
      expect(value, name).not.toBeNull()
    }
  }),
  holds("3.3", "MUST", "`issuer` is the origin of the metadata", async (probe) => {
    expect((await probe.metadata()).body["issuer"]).toBe(issuer)
  }),
  elsewhere(
    "3",
    "MUST",
    "the metadata is available only over TLS (also §6.1)",
    "the operator's proxy terminates TLS: docs/operating.md"
  ),
  notApplicable(
    "3.1",
    "MUST",
    "the path of an issuer follows the well-known path",
    "an issuer is an origin: `AUTH_URL` has no path"
  ),
  notApplicable("2.1", "MUST", "signed metadata names its issuer", "the metadata is not signed")
]
