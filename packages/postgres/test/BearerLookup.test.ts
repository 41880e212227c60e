/** Law 14 adds no lookup: state and epoch of the application come with the grant. */
import { expect, it } from "@effect/vitest"
import { Applications, Audit, OAuth, Services } from "@startlist/core"
import { Database, Postgres, Users } from "@startlist/postgres"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Effect, Layer, Option } from "effect"
import { type Recorded, recording } from "./support/plans.ts"

it.live(
  "a bearer check is one statement, also of a suspended application and of an earlier epoch",
  () =>
    Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      const asked: Array<string> = []
      const recorded = new Map<string, Recorded>()
      recorded.set = (name) => (asked.push(name), recorded)
      const stores = Layer.unwrapEffect(
        Effect.map(Database.Database, (database) => Layer.fresh(recording(database, recorded)))
      )
      const layer = Services.layer.pipe(
        Layer.provideMerge(stores),
        Layer.provide([Audit.none, fixtures.callbacks, Postgres.layer({ url })])
      )
      yield* Effect.gen(function*() {
        const applications = yield* Applications.Applications
        const oauth = yield* OAuth.OAuth
        const { insert } = yield* Users.Users
        const owner = yield* insert({ role: "platform", email: "ada@example.test", firstName: "", lastName: "" })
        const settings = { name: "Race Day", redirectUris: [], requirePkce: false }
        const { application: { id }, secret } = yield* applications.create(owner.id, settings)
        const none = Option.none()
        const request = yield* oauth.authorize(id, {
          redirectUri: Option.some("http://localhost/"),
          responseType: Option.some("code"),
          scope: Option.some("read"),
          responseMode: none,
          state: none,
          role: none,
          codeChallenge: none,
          codeChallengeMethod: none
        })
        const code = yield* oauth.consent(request, owner)
        const tokens = yield* oauth.exchange({ client: { id, secret }, code, redirectUri: none, verifier: none })
        const check = Effect.gen(function*() {
          asked.length = 0
          const checked = yield* Effect.option(oauth.authenticate(tokens.accessToken))
          return [Option.isSome(checked), asked.length]
        })
        expect(yield* check).toEqual([true, 1])
        yield* applications.suspend(id)
        expect(yield* check).toEqual([false, 1])
        yield* applications.restore(id)
        expect(yield* check).toEqual([true, 1])
        yield* applications.revokeAll(id)
        expect(yield* check).toEqual([false, 1])
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.provide([TestDatabase.layer, fixtures.seal, fixtures.secrets]))
)
