/** Clients that know only the URL of an API find everything else (RFC 9728). */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Guard, HttpConfig } from "@startlist/http"
import { layer, Service } from "../../pages/test/support/Service.ts"
import { testing } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const config = { authUrl: "https://auth.test", baseUrl: "https://api.test" }

const resources = [
  "https://auth.test",
  "https://auth.test/api/v1",
  "https://auth.test/api/v1/athlete",
  "https://api.test/api/v1/webhook_subscription",
  "https://api.test/api/v1/webhook_subscription/events"
]

const pathOf = (url: string): string => url.slice(new URL(url).origin.length)

const challengeOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) =>
  String(headers["www-authenticate"])

const named = (challenge: string): string => /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? ""

describe("GET /.well-known/oauth-protected-resource (RFC 9728)", () => {
  testing("describes the service, its API and each path of it, each at its own path", () =>
    Effect.gen(function*() {
      const { send } = yield* Service
      for (const resource of resources) {
        const response = yield* send("GET", pathOf(HttpConfig.resourceMetadataUrl({ url: resource })))
        expect(response.status, resource).toBe(200)
        expect(World.json(response)).toMatchObject({
          resource,
          authorization_servers: ["https://auth.test"],
          bearer_methods_supported: ["header"]
        })
      }
      for (const path of ["/elsewhere", "/api", "/", "er"]) {
        expect((yield* send("GET", `${HttpConfig.resourceMetadataRoot}${path}`)).status, path).toBe(404)
      }
    }), { config })

  testing("names each ability once; read+write is accepted, but not advertised", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const all = ["profile:read", "profile:write", "read", "write"]
      for (
        const [path, scopes_supported] of [
          [HttpConfig.resourceMetadataRoot, all],
          ["/.well-known/oauth-authorization-server", all],
          [`${HttpConfig.resourceMetadataRoot}/api/v1/athlete`, ["profile:read", "read"]]
        ] as const
      ) {
        expect(World.json(yield* send("GET", path)), path).toMatchObject({ scopes_supported })
      }
      expect(yield* world.tokens({ scope: "read+write" })).toMatchObject({ scope: "read+write" })
    }))

  testing("a joined scope whose parts do not exist is advertised", () =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const response = yield* send("GET", `${HttpConfig.resourceMetadataRoot}/api/v1/athlete`)
      expect(World.json(response)).toMatchObject({ scopes_supported: ["read+write"] })
    }), { policy: { scopes: ["read+write", "write"] } })

  testing("names the configured issuer", () =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const response = yield* send("GET", HttpConfig.resourceMetadataRoot)
      expect(World.json(response)).toMatchObject({ authorization_servers: ["https://id.test"] })
    }), { config: { issuer: Option.some("https://id.test") } })

  testing("an empty list of scopes is left out (§3.2)", () =>
    Effect.gen(function*() {
      const { send } = yield* Service
      expect(World.json(yield* send("GET", HttpConfig.resourceMetadataRoot))).not.toHaveProperty("scopes_supported")
      expect(challengeOf(yield* send("GET", "/api/v1/athlete"))).not.toContain("scope=")
    }), { policy: { scopes: [] } })
})

describe("a challenge (RFC 9728 §5.1)", () => {
  testing(
    "names metadata, whose resource is the requested URL, with and without a token",
    () =>
      Effect.gen(function*() {
        const { send } = yield* Service
        for (const resource of resources.slice(2)) {
          for (const headers of [{}, World.bearer("unknown")]) {
            const refused = yield* send("GET", pathOf(resource), { headers })
            expect(refused.status).toBe(401)
            const metadata = named(challengeOf(refused))
            expect(metadata).toBe(HttpConfig.resourceMetadataUrl({ url: resource }))
            expect(World.json(yield* send("GET", pathOf(metadata)))).toMatchObject({ resource })
          }
        }
      }),
    { config }
  )

  testing("of 401 and 403 names the narrowest scope that gives access", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const { access_token } = yield* world.tokens({ scope: "write" })
      for (const [headers, status] of [[{}, 401], [World.bearer(access_token), 403]] as const) {
        const refused = yield* send("GET", "/api/v1/athlete", { headers })
        expect(refused.status).toBe(status)
        expect(challengeOf(refused)).toContain("scope=\"profile:read\"")
      }
    }))
})

const own = { url: "https://club.example/mcp", scopes: ["results:read", "read"] }

it.effect("a guard of an embedder names its own resource, whose metadata are served", () =>
  Effect.gen(function*() {
    const { send } = yield* Service
    const world = yield* World.make
    const check = yield* Guard.make
    const requirement = { resource: own.url, scopes: own.scopes }
    const { access_token } = yield* world.tokens({ scope: "write" })
    for (const [headers, status] of [[{}, 401], [World.bearer(access_token), 403]] as const) {
      const { refused } = yield* check({ headers }, requirement)
      expect(refused?.status).toBe(status)
      const challenge = challengeOf({ headers: refused?.headers ?? {} })
      expect(challenge).toContain("scope=\"results:read\"")
      const metadata = named(challenge)
      expect(metadata).toBe("https://club.example/.well-known/oauth-protected-resource/mcp")
      expect(World.json(yield* send("GET", pathOf(metadata)))).toMatchObject({
        resource: own.url,
        authorization_servers: [config.authUrl],
        scopes_supported: own.scopes
      })
    }
  }).pipe(Effect.provide(layer({
    config: { ...config, resources: [own] },
    policy: { scopes: ["results:read", "read", "write"] }
  }))))
