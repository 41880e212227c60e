import { describe, expect } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const isInvalidGrant = (status: number) =>
  expect.objectContaining({ status, body: expect.stringContaining("\"error\":\"invalid_grant\"") })

describe("POST /oauth/token with a refresh token (requirements §4.3)", () => {
  testing("returns a new pair without scope", (world) =>
    Effect.gen(function*() {
      const first = yield* world.tokens()
      const body = World.json(yield* world.refresh(first.refresh_token))
      expect(Object.keys(body ?? {}).sort()).toEqual([
        "access_token",
        "created_at",
        "expires_in",
        "refresh_token",
        "token_type"
      ])
    }))

  testing(
    "a wider scope is refused and uses no token; a narrower one is not applied, and the response says so",
    (world) =>
      Effect.gen(function*() {
        const { refresh_token } = yield* world.tokens({ scope: "read write" })
        const refreshing = (token: string, scope: string) =>
          world.form("/oauth/token", { ...world.client, grant_type: "refresh_token", refresh_token: token, scope })
        for (const [scope, excess] of [["read profile:read", "profile:read"], ["read,write", "read,write"]] as const) {
          const refused = yield* refreshing(refresh_token, scope)
          expect(refused.status).toBe(400)
          const error_description = `${excess} was not granted. Separate scopes with spaces.`
          expect(World.json(refused)).toEqual({ error: "invalid_scope", error_description })
        }
        const same = yield* refreshing(refresh_token, "write read")
        expect(World.json(same)).not.toHaveProperty("scope")
        const narrower = yield* refreshing(World.tokensOf(same).refresh_token, "read")
        expect(World.json(narrower)).toMatchObject({ scope: "read write" })
      })
  )

  testing("the previous access token stays valid until it expires", (world) =>
    Effect.gen(function*() {
      const first = yield* world.tokens()
      yield* world.refresh(first.refresh_token)
      expect((yield* world.athleteWith(first.access_token)).status).toBe(200)
    }))

  testing(
    "a replaced refresh token is answered with 401 invalid_grant without WWW-Authenticate (requirements §7)",
    (world) =>
      Effect.gen(function*() {
        const first = yield* world.tokens()
        yield* world.refresh(first.refresh_token)
        const again = yield* world.refresh(first.refresh_token)
        expect(again).toEqual(isInvalidGrant(401))
        expect(again.headers).not.toHaveProperty("www-authenticate")
      })
  )

  const describedAs = (text: string) =>
    expect.objectContaining({ status: 401, body: expect.stringContaining(`"error_description":"${text}`) })

  testing(
    "a replay, of any age, is refused with 401, and its audit entry names the user and the reason",
    (world) =>
      Effect.gen(function*() {
        const { audit } = yield* Service
        const first = yield* world.tokens()
        const second = World.tokensOf(yield* world.refresh(first.refresh_token))
        for (const pause of ["0 seconds", "61 seconds", "1 hour"] as const) {
          yield* TestClock.adjust(pause)
          expect(yield* world.refresh(first.refresh_token)).toEqual(describedAs("the refresh token was replaced"))
        }
        expect((yield* world.athleteWith(second.access_token)).status).toBe(200)
        expect((yield* world.refresh(second.refresh_token)).status).toBe(200)
        yield* world.tokens()
        expect(yield* world.refresh(second.refresh_token)).toEqual(describedAs("the refresh token is of an earlier"))
        const entries = audit.filter(({ action }) => action === "replay_refused")
        expect(entries.map(({ detail }) => detail)).toEqual(["replaced", "replaced", "replaced", "superseded"])
        for (const { actor, subject } of entries) {
          expect(actor).toMatchObject({ _tag: "Application", applicationId: Number(world.client.client_id) })
          expect(subject).toMatchObject({ _tag: "User", userId: world.athlete.id })
        }
      })
  )

  testing(
    "with REPLAY=revoke, a replay after 60 s ends its line (RFC 9700 §4.14.2), and the audit says so",
    (world) =>
      Effect.gen(function*() {
        const { audit } = yield* Service
        const first = yield* world.tokens()
        const second = World.tokensOf(yield* world.refresh(first.refresh_token))
        yield* TestClock.adjust("59 seconds")
        expect(yield* world.refresh(first.refresh_token)).toEqual(isInvalidGrant(401))
        expect((yield* world.athleteWith(second.access_token)).status).toBe(200)
        yield* TestClock.adjust("1 second")
        expect(yield* world.refresh(first.refresh_token)).toEqual(
          describedAs("the code or refresh token was used before")
        )
        expect(yield* world.refresh(second.refresh_token)).toEqual(describedAs("all tokens since the last connection"))
        expect((yield* world.athleteWith(second.access_token)).status).toBe(401)
        yield* world.tokens()
        expect(yield* world.refresh(second.refresh_token)).toEqual(describedAs("the refresh token is of an earlier"))
        const details = audit.flatMap(({ action, detail }) => action === "replay_refused" ? [detail] : [])
        expect(details).toEqual(["replaced", "replayed", "ended", "superseded"])
      }),
    { policy: { replay: "revoke" } }
  )

  testing(
    "unknown and expired refresh tokens, and those of another client, get 400 invalid_grant",
    (world) =>
      Effect.gen(function*() {
        const { refresh_token } = yield* world.tokens()
        expect(yield* world.refresh("sl_rt_1_1_1_1_unknown")).toEqual(isInvalidGrant(400))
        const other = yield* world.register("Other")
        expect(yield* world.refresh(refresh_token, other)).toEqual(isInvalidGrant(400))
        yield* TestClock.adjust("90 days")
        expect(yield* world.refresh(refresh_token)).toEqual(isInvalidGrant(400))
      })
  )

  testing("each refresh restarts the 90 days", (world) =>
    Effect.gen(function*() {
      const first = yield* world.tokens()
      yield* TestClock.adjust("89 days")
      const second = World.tokensOf(yield* world.refresh(first.refresh_token))
      yield* TestClock.adjust("89 days")
      expect((yield* world.refresh(second.refresh_token)).status).toBe(200)
    }))
})
