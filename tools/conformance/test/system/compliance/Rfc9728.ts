/** RFC 9728: metadata of the protected resources, and the challenges that name it. */
import { expect } from "@effect/vitest"
import { type Answer, issuer, type Probe } from "./Probe.ts"
import { elsewhere, holds, notApplicable, type Requirement } from "./Requirement.ts"

const wellKnown = "/.well-known/oauth-protected-resource"

const paths = ["", "/api/v1", "/api/v1/athlete", "/api/v1/webhook_subscription", "/api/v1/webhook_subscription/events"]

const metadataOf = (answer: Answer): string =>
  /resource_metadata="([^"]+)"/.exec(answer.headers.get("www-authenticate") ?? "")?.[1] ?? ""

/** The metadata of each path, which must not depend on the request. */
const metadata = async (probe: Probe): Promise<ReadonlyArray<Answer & { readonly path: string }>> =>
  Promise.all(paths.map(async (path) => {
    const answer = await probe.request(wellKnown + path)
    const other = await probe.request(`${wellKnown}${path}?resource=https://evil.test`, {
      headers: { "x-forwarded-host": "evil.test" }
    })
    expect(other.text).toBe(answer.text)
    return { ...answer, path }
  }))

export const requirements: ReadonlyArray<Requirement> = [
  holds("2", "RECOMMENDED", "the metadata has the scopes, each ability once", async (probe) => {
    const supported = (await metadata(probe)).map(({ body }) => body["scopes_supported"])
    const all = ["profile:read", "profile:write", "read", "write"]
    expect(supported).toEqual(paths.map((path) => path === "/api/v1/athlete" ? ["profile:read", "read"] : all))
  }),
  holds(
    "3.1",
    "MUST",
    "the metadata is JSON at the well-known path, followed by the path of the resource",
    async (probe) => {
      for (const { headers, status } of await metadata(probe)) {
        expect([status, headers.get("content-type")]).toEqual([200, "application/json;charset=UTF-8"])
      }
    }
  ),
  holds("3.2", "MUST", "several values are arrays, and none of them is empty", async (probe) => {
    for (const { body } of await metadata(probe)) {
      for (const [name, value] of Object.entries(body)) {
        expect(Array.isArray(value), name).toBe(name !== "resource")
        expect(value, name).not.toEqual([])
      }
    }
  }),
  holds("3.3", "MUST", "`resource` is the URL whose path is in that of the metadata", async (probe) => {
    for (const { body, path } of await metadata(probe)) {
      expect(body).toMatchObject({ resource: issuer + path, authorization_servers: [issuer] })
    }
  }),
  holds("5.1", "MUST", "the challenge names the metadata of the requested URL", async (probe) => {
    const answers = [await probe.resource({}), await probe.bearer("x")]
    expect(answers.map(({ status }) => status)).toEqual([401, 401])
    expect(answers.map(metadataOf)).toEqual(answers.map(() => `${issuer}${wellKnown}/api/v1/athlete`))
  }),
  elsewhere(
    "7.1",
    "MUST",
    "the metadata is available only over TLS",
    "the operator's proxy terminates TLS: docs/operating.md"
  ),
  notApplicable("2.2", "MUST", "signed metadata names its issuer", "the metadata is not signed")
]
