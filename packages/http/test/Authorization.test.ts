/** A server with its own consent page: the checked request as data, and both answers to it. */
import { describe, expect } from "@effect/vitest"
import { Authorization, Http, Parameters } from "@startlist/http"
import { Effect, Option } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing, type TestWorld } from "../../pages/test/support/Testing.ts"
import { redirectOf, redirectUri, tokensOf } from "../../pages/test/support/World.ts"

const requestOf = (query: string): Http.Request => ({
  method: "GET",
  path: "/oauth/authorize",
  query,
  headers: {},
  body: new Uint8Array(),
  address: "192.0.2.1"
})

const queryOf = ({ authorizeUrl }: TestWorld, parameters: Record<string, string> = {}): string =>
  authorizeUrl(parameters).split("?")[1] ?? ""

describe("a consent page of another server", () => {
  testing("gets the checked request and the fields that its form sends again", (world) =>
    Effect.gen(function*() {
      const authorization = yield* Authorization.make
      const parameters = yield* Parameters.read(requestOf(queryOf(world, { state: "opaque", unknown: "left out" })))
      const checked = yield* authorization.check(parameters)
      expect(checked).toMatchObject({ redirectUri, scope: ["read"], state: Option.some("opaque") })
      expect(checked.application.name).toBe("Race Planner")
      expect(new URLSearchParams(Authorization.fieldsOf(parameters).map(([name, value]) => [name, value])).toString())
        .toBe(new URLSearchParams({
          client_id: world.client.client_id,
          redirect_uri: redirectUri,
          response_type: "code",
          scope: "read",
          state: "opaque"
        }).toString())
    }))

  testing(
    "answers consent with a code and refusal with an error; both are recorded",
    (world) =>
      Effect.gen(function*() {
        const { audit } = yield* Service
        const authorization = yield* Authorization.make
        const request = requestOf(queryOf(world, { state: "opaque" }))
        const checked = yield* Effect.flatMap(Parameters.read(request), authorization.check)
        const { query } = redirectOf(yield* authorization.allow(request, checked, world.athlete))
        expect(query).toMatchObject({ scope: "read", state: "opaque" })
        expect(tokensOf(yield* world.exchange(query["code"] ?? "")).scope).toBe("read")
        expect(redirectOf(yield* authorization.deny(request, checked, world.athlete)).query)
          .toMatchObject({ error: "access_denied", state: "opaque" })
        expect(audit.slice(-2).map(({ action }) => action)).toEqual(["consent", "consent_refused"])
      })
  )

  testing(
    "learns whether the application or only the user may see an error",
    (world) =>
      Effect.gen(function*() {
        const authorization = yield* Authorization.make
        const problemOf = (query: string) =>
          Effect.flip(Effect.flatMap(Parameters.read(requestOf(query)), authorization.check))
        const wrongScope = yield* problemOf(queryOf(world, { scope: "everything" }))
        if (wrongScope._tag !== "@startlist/core/AuthorizationRefused") throw new Error(wrongScope._tag)
        expect(redirectOf(authorization.sendBack(wrongScope)).query).toMatchObject({ error: "invalid_scope" })
        const reasons = {
          unknown_client: queryOf(world, { client_id: "999" }),
          unregistered_redirect_uri: queryOf(world, { redirect_uri: "https://evil.test/" }),
          repeated_client_id: `${queryOf(world)}&client_id=1`,
          repeated_redirect_uri: `${queryOf(world)}&redirect_uri=https%3A%2F%2Fevil.test%2F`
        }
        for (const [reason, query] of Object.entries(reasons)) {
          expect(yield* problemOf(query)).toMatchObject({ _tag: "@startlist/http/NotRedirectable", reason })
        }
      })
  )
})
