import { describe, expect, it } from "@effect/vitest"
import { Application, Audit, Grant, Memory, OAuth, Secrets, Services, Token, User } from "@startlist/core"
import { ScriptedCallbacks, TestSecrets, TestUsers } from "@startlist/testing"
import { Effect, FastCheck, Layer, Option, Redacted } from "effect"

const id = FastCheck.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const number = FastCheck.nat()
const name = FastCheck.record({
  applicationId: id.map((n) => Application.ApplicationId.make(n)),
  userId: id.map((n) => User.UserId.make(n)),
  epoch: number,
  generation: number
})

/** One of each kind for the same grant. */
const make = (named: Token.RefreshName) =>
  Effect.gen(function*() {
    const secrets = yield* Secrets.Secrets
    const code = yield* secrets.make("code", Token.nameOf(named))
    const origin = { presented: code, salt: "salt", idempotencyKey: Option.none() }
    const refreshName = Token.refreshNameOf(named, named.epoch, named.generation)
    const { accessToken, refreshToken } = secrets.keys[0].derive(origin, Token.nameOf(named), refreshName)
    return { access: accessToken, code, refresh: refreshToken }
  }).pipe(Effect.provide(TestSecrets.layer("token")), Effect.runSync)

describe("a code or token", () => {
  it("names the grant that it belongs to, and is of one kind", () => {
    FastCheck.assert(FastCheck.property(name, (named) => {
      const { applicationId, userId } = named
      const { access, code, refresh } = make(named)
      const isNamed = Option.some(expect.objectContaining({ applicationId, userId }))
      expect([access, code, refresh].map((text) => Token.parse("access", text))).toEqual([isNamed, none, none])
      expect([access, code, refresh].map((text) => Token.parse("code", text))).toEqual([none, isNamed, none])
      expect([access, code, refresh].map(Token.parseRefresh)).toEqual([none, none, Option.some(named)])
    }))
  })

  it.effect("of another form is refused without asking a store", () =>
    Effect.gen(function*() {
      const oauth = yield* OAuth.OAuth
      const named = {
        applicationId: Application.ApplicationId.make(1),
        userId: User.UserId.make(1),
        epoch: 1,
        generation: 1
      }
      const { code, refresh } = make(named)
      const good = Redacted.value(refresh)
      const bad = [
        "",
        "x",
        "sl_at_",
        "sl_at_1_1_",
        "sl_at_01_1_x",
        "sl_at_-1_1_x",
        "sl_at_0_1_x",
        "sl_at_1_9007199254740992_x",
        `${good} `,
        ` ${good}`,
        `${good}\n`
      ]
      for (const text of [...bad, Redacted.value(code), `sl_at_1_1_${"ä".repeat(43)}`]) {
        const token = Redacted.make(text)
        expect([text, (yield* Effect.flip(oauth.authenticate(token)))._tag]).toEqual([
          text,
          "@startlist/core/InvalidToken"
        ])
        expect(yield* oauth.introspect(token, Option.none())).toEqual(none)
      }
    }).pipe(Effect.provide(
      Services.layer.pipe(
        Layer.provide(Layer.succeed(Grant.GrantStore, deaf)),
        Layer.provide([Audit.none, Memory.layer, TestUsers.layer, TestSecrets.layer("token"), ScriptedCallbacks.layer])
      )
    )))
})

const none = Option.none()

const asked = () => Effect.dieMessage("the store was asked")

const deaf: Grant.GrantStore["Type"] = { find: asked, listByApplication: asked, listByUser: asked, save: asked }
