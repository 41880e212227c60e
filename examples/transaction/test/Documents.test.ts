import { SqlClient } from "@effect/sql"
import { it } from "@effect/vitest"
import { Applications, Delivery, Grant, Registration, Registrations, Subscription } from "@startlist/core"
import { Embedded, Postgres, Users } from "@startlist/postgres"
import { DateTime, Effect, Either, Layer, Option } from "effect"
import { describe, expect } from "vitest"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as Documents from "../src/Documents.ts"

const onPostgres = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url, migrations: [Documents.migrations] }))
).pipe(Layer.provide(TestDatabase.layer))

const embedded = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder, migrations: [Documents.migrations] }))
)

/** A registration of an athlete who has granted access to an application that has subscribed. */
const told = Effect.gen(function*() {
  const users = yield* Users.Users
  const applications = yield* Applications.Applications
  const owner = yield* users.insert({ role: "platform", email: "owner@a.test", firstName: "O", lastName: "P" })
  const athlete = yield* users.insert({ role: "athlete", email: "athlete@a.test", firstName: "A", lastName: "B" })
  const settings = { name: "App", redirectUris: ["https://app.test/callback"], requirePkce: false }
  const { application } = yield* applications.create(owner.id, settings)
  const now = DateTime.unsafeMake(0)
  const grants = yield* Grant.GrantStore
  yield* grants.save({
    grant: Grant.Grant.make({
      applicationId: application.id,
      userId: athlete.id,
      version: 1,
      status: "active",
      role: "athlete",
      scope: ["read"],
      epoch: 1,
      applicationEpoch: 0,
      generation: 0,
      lineStart: 1,
      grantedAt: now,
      refresh: Option.none(),
      access: [],
      codes: []
    }),
    outgoing: []
  })
  const subscriptions = yield* Subscription.SubscriptionStore
  yield* subscriptions.insert({
    applicationId: application.id,
    callbackUrl: "https://app.test/events",
    createdAt: now,
    updatedAt: now
  })
  const registrations = yield* Registrations.Registrations
  return yield* registrations.create({
    parties: {
      athleteId: athlete.id,
      organizerId: Option.none(),
      clubId: Option.none(),
      platformUserId: Option.none()
    },
    updates: Registration.emptyUpdates
  })
})

/** The contents of the tables: ours, the registration, and the comments of the queued events. */
const seen = (id: Registration.RegistrationId) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const registrations = yield* Registrations.Registrations
    const deliveries = yield* Delivery.DeliveryStore
    const rows = yield* sql<{ readonly validated_by: string }>`SELECT validated_by FROM documents ORDER BY kind`
    const list = yield* deliveries.list({
      applicationId: Option.none(),
      state: Option.none(),
      after: Option.none(),
      limit: 10
    })
    return {
      documents: rows.map(({ validated_by }) => validated_by),
      comment: (yield* registrations.find(id)).updates.comment,
      events: list.map(({ event }) => "comment" in event.updates ? event.updates.comment : "")
    }
  })

for (const [name, database] of [["PostgreSQL", onPostgres], ["the embedded database", embedded]] as const) {
  describe(`a transaction of the embedder on ${name}`, () => {
    it.live(
      "commits the embedder's row, the registration and its event together, or none of them",
      () =>
        Effect.gen(function*() {
          const { id } = yield* told
          yield* Documents.validate(id, "licence", "Ada")
          const after = { documents: ["Ada"], comment: "validated by Ada", events: ["validated by Ada"] }
          expect(yield* seen(id)).toEqual(after)

          const refused = yield* Effect.either(Documents.validate(id, "licence", "Bob"))
          expect(refused).toEqual(Either.left(new Documents.AlreadyValidated({ kind: "licence" })))
          expect(yield* seen(id)).toEqual(after)

          yield* Documents.validate(id, "certificate", "Eve")
          expect(yield* seen(id)).toEqual({
            documents: ["Eve", "Ada"],
            comment: "validated by Eve",
            events: ["validated by Eve", "validated by Ada"]
          })
        }).pipe(Effect.provide(fixtures.services(database)))
    )
  })
}
