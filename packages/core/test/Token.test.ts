import { describe, expect, it } from "@effect/vitest"
import { Application, GrantStore, Memory, OAuth, Secrets, Services, Token, User } from "@startlist/core"
import { ScriptedCallbacks, TestUsers } from "@startlist/testing"
import { Effect, FastCheck, Layer, Option, Redacted } from "effect"

const id = FastCheck.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const name = FastCheck.record({
  applicationId: id.map((n) => Application.ApplicationId.make(n)),
  userId: id.map((n) => User.UserId.make(n))
})
const kinds = ["access", "code", "refresh"] as const

const make = (kind: typeof kinds[number], named: Token.Name) =>
  Effect.flatMap(
    Secrets.Secrets,
    (secrets) => secrets.make(kind, kind === "refresh" ? Token.chainNameOf(named, 1, 12) : Token.nameOf(named))
  ).pipe(Effect.provide(Secrets.layerTest), Effect.runSync)

describe("a code or token", () => {
  it("names the grant that it belongs to, and is of one kind", () => {
    FastCheck.assert(FastCheck.property(name, FastCheck.constantFrom(...kinds), (named, made) => {
      const text = make(made, named)
      for (const kind of kinds) {
        expect(Token.parse(kind, text)).toEqual(kind === made ? Option.some(named) : Option.none())
      }
    }))
  })

  it.effect("of another form is refused without asking a store", () =>
    Effect.gen(function*() {
      const oauth = yield* OAuth.OAuth
      const named = { applicationId: Application.ApplicationId.make(1), userId: User.UserId.make(1) }
      const good = Redacted.value(make("refresh", named))
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
      for (const text of [...bad, Redacted.value(make("code", named)), `sl_at_1_1_${"ä".repeat(43)}`]) {
        const token = Redacted.make(text)
        expect([text, (yield* Effect.flip(oauth.authenticate(token)))._tag]).toEqual([text, "InvalidToken"])
        expect(yield* oauth.introspect(token, Option.none())).toEqual(Option.none())
      }
    }).pipe(Effect.provide(
      Services.layer.pipe(
        Layer.provide(Layer.succeed(GrantStore.GrantStore, deaf)),
        Layer.provide([Memory.layer, TestUsers.layer, Secrets.layerTest, ScriptedCallbacks.layer])
      )
    )))
})

const asked = () => Effect.dieMessage("the store was asked")

const deaf: GrantStore.GrantStore["Type"] = {
  find: asked,
  findByCode: asked,
  findByRefresh: asked,
  findByAccess: asked,
  listByUser: asked,
  save: asked,
  purge: asked
}
