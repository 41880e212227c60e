import { describe, expect, it } from "@effect/vitest"
import { Application, OAuth, Secrets } from "@startlist/core"
import { Effect, Option } from "effect"
import { consent, exchange, layer, layerWith, makeClient, makeUser, parameters, refusal } from "./support/fixture.ts"
import { Redacted } from "effect"

const verifier = Redacted.make("a-verifier-of-this-application")
const challengeOf = Effect.map(Secrets.Secrets, (secrets) => secrets.hash(Redacted.value(verifier)))

/** The result of an authorization request: the scope, or the error code. */
const outcome = (
  changes: Parameters<typeof parameters>[0],
  settings: { readonly requirePkce?: boolean } = {}
) =>
  Effect.gen(function*() {
    const { id } = yield* makeClient(settings)
    const { authorize } = yield* OAuth.OAuth
    return yield* authorize(id, parameters(changes)).pipe(
      Effect.map(({ scope }) => scope.join(" ")),
      Effect.catchTags({
        "@startlist/core/AuthorizationRefused": ({ error }) => Effect.succeed(error),
        "@startlist/core/InvalidRedirect": ({ reason }) => Effect.succeed(reason)
      })
    )
  }).pipe(Effect.provide(layer))

describe("an authorization request", () => {
  it.effect("is never answered by redirect to an address that is not accepted", () =>
    Effect.gen(function*() {
      expect(yield* outcome({ redirectUri: Option.none() })).toBe("missing_redirect_uri")
      expect(yield* outcome({ redirectUri: Option.some("https://evil.test/") })).toBe("unregistered_redirect_uri")
      const bad = { redirectUri: Option.some("https://evil.test/"), responseType: Option.none() }
      expect(yield* outcome(bad)).toBe("unregistered_redirect_uri")
      const { authorize } = yield* OAuth.OAuth
      expect(yield* refusal(authorize(Application.ApplicationId.make(4711), parameters()))).toBe("unknown_client")
    }).pipe(Effect.provide(layer)))

  it.effect("must ask for a code", () =>
    Effect.gen(function*() {
      expect(yield* outcome({ responseType: Option.none() })).toBe("invalid_request")
      expect(yield* outcome({ responseType: Option.some("token") })).toBe("unsupported_response_type")
      expect(yield* outcome({ responseType: Option.some("code token") })).toBe("unsupported_response_type")
    }))

  it.effect("must ask for known scopes, space-delimited; repeated ones count once", () =>
    Effect.gen(function*() {
      expect(yield* outcome({ scope: Option.none() })).toBe("invalid_scope")
      expect(yield* outcome({ scope: Option.some("") })).toBe("invalid_scope")
      expect(yield* outcome({ scope: Option.some("   ") })).toBe("invalid_scope")
      expect(yield* outcome({ scope: Option.some("profile:read unknown") })).toBe("invalid_scope")
      expect(yield* outcome({ scope: Option.some("Read") })).toBe("invalid_scope")
      expect(yield* outcome({ scope: Option.some("read,write") })).toBe("invalid_scope")
      expect(yield* outcome({ scope: Option.some("write  read write") })).toBe("write read")
      for (const name of ["profile:read", "profile:write", "read", "write", "read+write"]) {
        expect(yield* outcome({ scope: Option.some(name) })).toBe(name)
      }
    }))

  it.effect("without a scope is refused by naming the scopes", () =>
    Effect.gen(function*() {
      const { id } = yield* makeClient()
      const { authorize } = yield* OAuth.OAuth
      expect(yield* Effect.flip(authorize(id, parameters({ scope: Option.none() })))).toMatchObject({
        error: "invalid_scope",
        description: "scope is missing. Send one or more of: profile:read profile:write read write"
      })
    }).pipe(Effect.provide(layer)))

  it.effect("without a scope gets the default scope, if the policy has one (RFC 6749 §3.3)", () =>
    Effect.gen(function*() {
      const { id } = yield* makeClient()
      const { authorize } = yield* OAuth.OAuth
      for (const scope of [Option.none(), Option.some(" ")]) {
        expect((yield* authorize(id, parameters({ scope }))).scope).toEqual(["read", "write"])
      }
      expect((yield* authorize(id, parameters({ scope: Option.some("write") }))).scope).toEqual(["write"])
    }).pipe(Effect.provide(layerWith({ defaultScope: ["read", "write"] }))))

  it.effect("may ask for one of the four roles", () =>
    Effect.gen(function*() {
      for (const role of ["platform", "organizer", "club", "athlete"]) {
        expect(yield* outcome({ role: Option.some(role) })).toBe("profile:read")
      }
      expect(yield* outcome({ role: Option.some("admin") })).toBe("invalid_request")
    }))

  it.effect("is answered in the query: no other response mode is accepted", () =>
    Effect.gen(function*() {
      expect(yield* outcome({ responseMode: Option.some("query") })).toBe("profile:read")
      expect(yield* outcome({ responseMode: Option.some("fragment") })).toBe("invalid_request")
      expect(yield* outcome({ responseMode: Option.some("form_post") })).toBe("invalid_request")
    }))

  it.effect("may use PKCE with S256 and no other method", () =>
    Effect.gen(function*() {
      const codeChallenge = Option.some(yield* challengeOf)
      const method = (name: string) => ({ codeChallenge, codeChallengeMethod: Option.some(name) })
      expect(yield* outcome(method("S256"))).toBe("profile:read")
      expect(yield* outcome(method("plain"))).toBe("invalid_request")
      expect(yield* outcome(method("s256"))).toBe("invalid_request")
      expect(yield* outcome({ codeChallenge }), "no method means plain").toBe("invalid_request")
      expect(yield* outcome({ codeChallengeMethod: Option.some("S256") })).toBe("invalid_request")
      for (const bad of ["short", "a".repeat(42), "a".repeat(44), `${"a".repeat(42)}=`, `${"a".repeat(42)}+`]) {
        const changes = { codeChallenge: Option.some(bad), codeChallengeMethod: Option.some("S256") }
        expect(yield* outcome(changes), bad).toBe("invalid_request")
      }
    }).pipe(Effect.provide(layer)))

  it.effect("must use PKCE where the application requires it", () =>
    Effect.gen(function*() {
      const codeChallenge = Option.some(yield* challengeOf)
      const withPkce = { codeChallenge, codeChallengeMethod: Option.some("S256") }
      expect(yield* outcome({}, { requirePkce: true })).toBe("invalid_request")
      expect(yield* outcome(withPkce, { requirePkce: true })).toBe("profile:read")
    }).pipe(Effect.provide(layer)))

  it.effect("has its state returned with every refusal, unless the state itself is refused", () =>
    Effect.gen(function*() {
      const { id } = yield* makeClient()
      const { authorize } = yield* OAuth.OAuth
      const stateOf = (state: string, scope: string) =>
        Effect.map(
          Effect.flip(authorize(id, parameters({ state: Option.some(state), scope: Option.some(scope) }))),
          (error) =>
            error._tag === "@startlist/core/AuthorizationRefused" ? [error.error, Option.getOrNull(error.state)] : error
        )
      expect(yield* stateOf("my state & more", "unknown")).toStrictEqual(["invalid_scope", "my state & more"])
      expect(yield* stateOf("", "unknown")).toStrictEqual(["invalid_scope", ""])
      const long = "a".repeat(100_000)
      expect(yield* stateOf(long, "unknown")).toStrictEqual(["invalid_scope", long])
      expect(yield* stateOf("nul\0", "read")).toStrictEqual(["invalid_request", null])
      expect(yield* stateOf("\ud800", "read")).toStrictEqual(["invalid_request", null])
    }).pipe(Effect.provide(layer)))
})

describe("a consent", () => {
  it.effect("is refused to a user who does not have the role that is asked for", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const role = Option.some("organizer")
      const error = yield* Effect.flip(consent(client, yield* makeUser("athlete"), { role }))
      expect(error).toMatchObject({ _tag: "@startlist/core/RoleMismatch", requested: "organizer", actual: "athlete" })
      yield* consent(client, yield* makeUser("organizer"), { role })
    }).pipe(Effect.provide(layer)))

  it.effect("is for all requested scopes", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const code = yield* consent(client, yield* makeUser(), { scope: Option.some("write profile:read") })
      expect((yield* exchange(client, code)).scope).toStrictEqual(["write", "profile:read"])
    }).pipe(Effect.provide(layer)))
})

describe("an exchange with PKCE", () => {
  const withPkce = Effect.gen(function*() {
    const client = yield* makeClient()
    const codeChallenge = Option.some(yield* challengeOf)
    const code = yield* consent(client, yield* makeUser(), { codeChallenge, codeChallengeMethod: Option.some("S256") })
    return { client, code }
  })

  it.effect("succeeds with the verifier of the challenge", () =>
    Effect.gen(function*() {
      const { client, code } = yield* withPkce
      yield* exchange(client, code, { verifier: Option.some(verifier) })
    }).pipe(Effect.provide(layer)))

  it.effect("is refused without the verifier or with another one, and the code stays good for its owner", () =>
    Effect.gen(function*() {
      const { client, code } = yield* withPkce
      expect(yield* refusal(exchange(client, code))).toBe("mismatch")
      const wrong = Option.some(Redacted.make("another-verifier"))
      expect(yield* refusal(exchange(client, code, { verifier: wrong }))).toBe("mismatch")
      yield* exchange(client, code, { verifier: Option.some(verifier) })
    }).pipe(Effect.provide(layer)))

  it.effect("is refused when a verifier comes for a code without a challenge (RFC 9700 §2.1.1)", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const code = yield* consent(client, yield* makeUser())
      expect(yield* refusal(exchange(client, code, { verifier: Option.some(verifier) }))).toBe("mismatch")
    }).pipe(Effect.provide(layer)))

  it.effect("must have a verifier where the application requires PKCE", () =>
    Effect.gen(function*() {
      const client = yield* makeClient({ requirePkce: true })
      const code = yield* consent(client, yield* makeUser(), {
        codeChallenge: Option.some(yield* challengeOf),
        codeChallengeMethod: Option.some("S256")
      })
      const error = yield* Effect.flip(exchange(client, code))
      expect(error).toMatchObject({ _tag: "@startlist/core/MissingParameter", name: "code_verifier" })
    }).pipe(Effect.provide(layer)))
})

it.effect("a policy can require redirect_uri at the exchange", () =>
  Effect.gen(function*() {
    const client = yield* makeClient()
    const code = yield* consent(client, yield* makeUser())
    const error = yield* Effect.flip(exchange(client, code))
    expect(error).toMatchObject({ _tag: "@startlist/core/MissingParameter", name: "redirect_uri" })
  }).pipe(Effect.provide(layerWith({ requireRedirectUri: true }))))
