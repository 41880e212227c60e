/** Users in the table: the same on the embedded database and on PostgreSQL. */
import { expect, layer } from "@effect/vitest"
import { User } from "@startlist/core"
import { Embedded, Postgres, Users } from "@startlist/postgres"
import { Arbitraries } from "@startlist/testing"
import { Effect, Either, FastCheck, Layer, Option } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const embedded = Layer.unwrapScoped(Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder })))

const postgres = Layer.unwrapEffect(Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url })))
  .pipe(Layer.provide(TestDatabase.layer))

const someone = { role: "athlete", email: "someone@example.test", firstName: "Ada", lastName: "Lovelace" } as const

for (const [name, database] of Object.entries({ embedded, postgres })) {
  layer(Users.layer.pipe(Layer.provide(database), Layer.provide(fixtures.seal), Layer.orDie), {
    timeout: "120 seconds"
  })(name, (it) => {
    it.effect("a user is found by identifier and by address, with every field unchanged", () =>
      Effect.gen(function*() {
        const users = yield* Users.Users
        const given = FastCheck.sample(Arbitraries.newUser("found"), 30)
        const inserted = yield* Effect.forEach(given, users.insert)
        expect(new Set(inserted.map(({ id }) => id)).size).toBe(30)
        for (const [index, user] of inserted.entries()) {
          expect(user).toEqual({ ...given[index] ?? someone, id: user.id })
          expect(yield* users.find(user.id)).toEqual(Option.some(user))
          expect(yield* users.findByEmail(user.email)).toEqual(Option.some(user))
        }
        const together = yield* Effect.forEach(inserted, ({ id }) => users.find(id), { concurrency: "unbounded" })
        expect(together).toEqual(inserted.map(Option.some))
      }))

    it.effect("an address belongs to one user, without regard to case", () =>
      Effect.gen(function*() {
        const users = yield* Users.Users
        for (const [mine, theirs] of [["Ada", "aDA"], ["Élan", "éLAN"]]) {
          const owner = yield* users.insert({ ...someone, email: `${mine}@Example.test` })
          const refused = yield* Effect.flip(users.insert({ ...someone, email: `${theirs}@eXample.TEST` }))
          expect(refused._tag).toBe("@startlist/postgres/EmailTaken")
          expect(yield* users.findByEmail(`${theirs}@EXAMPLE.test`)).toEqual(Option.some(owner))
        }
      }))

    it.effect("parallel inserts of one address: exactly one succeeds", () =>
      Effect.gen(function*() {
        const users = yield* Users.Users
        const insert = Effect.either(users.insert({ ...someone, email: "race@example.test" }))
        const results = yield* Effect.all(Array.from({ length: 8 }, () => insert), { concurrency: "unbounded" })
        expect(results.filter(Either.isRight)).toHaveLength(1)
        expect(results.filter(Either.isLeft).map(({ left }) => left._tag)).toEqual(
          Array(7).fill("@startlist/postgres/EmailTaken")
        )
      }))

    it.effect("an unknown user is not found", () =>
      Effect.gen(function*() {
        const users = yield* Users.Users
        expect(yield* users.find(User.UserId.make(Number.MAX_SAFE_INTEGER))).toEqual(Option.none())
        expect(yield* users.findByEmail("nobody@example.test")).toEqual(Option.none())
        expect(yield* users.findByEmail("%")).toEqual(Option.none())
      }))
  })
}
