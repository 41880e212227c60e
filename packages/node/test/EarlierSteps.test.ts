/**
 * Upgrades from every earlier migration: the present stores read rows that a program of that time wrote.
 *
 * Add rows here with each new migration. Never change rows of earlier ones: they represent installations.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { describe, expect, it } from "@effect/vitest"
import { Application, Delivery, Grant, Registration, Subscription } from "@startlist/core"
import { Migrations, Postgres, Users } from "@startlist/postgres"
import { Effect, Layer, Option } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as AuditLog from "../src/data/AuditLog.ts"
import { all as migrations } from "../src/data/ServiceTables.ts"

/** Rows by migration set and migration. */
const rows: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>> = {
  startlist_migrations: {
    "0001_initial": [
      `INSERT INTO startlist_users (role, email, email_key, first_name, last_name)
        VALUES ('platform', 'Ada@example.test', 'ada@example.test', 'Ada', 'Owner')`,
      `INSERT INTO startlist_applications (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at,
          signing_version, signing_secrets)
        VALUES (3, 1, 'App', '["https://app.test/back"]', true, '[["h",null]]', 1000, 1, '[]')`,
      `INSERT INTO startlist_grants (application_id, user_id, active, consent, codes, access, refresh, generation, version)
        VALUES (1, 1, true, '{"role":"platform","scope":["read"],"epoch":2,"at":5000}', NULL, '', 'f s 1jk 2s0', 7, 9)`,
      `INSERT INTO startlist_subscriptions (application_id, version, callback_url, created_at, updated_at)
        VALUES (1, 2, 'https://app.test/events', 2000, 3000)`,
      `INSERT INTO startlist_registrations (version, athlete_id, updates)
        VALUES (4, 1, '{"registration_status":"confirmed"}')`,
      `INSERT INTO startlist_deliveries (application_id, subscription_id, event_id, aspect_type, object_type, object_id,
          updates, event_time, due_at, ended_at, state, head, attempts)
        VALUES (1, 1, 'evt_1', 'u', 'r', 1, '["","confirmed","","",[],""]', 4000, 4000, 4500, 'd', false, '[]')`
    ],
    "0002_autovacuum": [],
    "0003_event_order": [],
    "0004_repeats": [],
    "0005_first_secret": [],
    "0006_people": [],
    "0007_paused_by_operator": [],
    "0008_request_limits": [],
    "0009_imports": []
  },
  startlist_service_migrations: {
    "0001_initial": [
      `INSERT INTO startlist_audit (at, action, actor, subject, address, detail) VALUES
        (1, 'login', '{"type":"user","id":1}', '{"type":"user","id":1}', '192.0.2.1', ''),
        (2, 'login_failed', '{"type":"unknown"}', '{"type":"user","id":1}', '192.0.2.1', '')`
    ],
    "0002_audit_append_only": [],
    "0003_autovacuum": [],
    "0004_limits": [],
    "0005_session_origins": [],
    "0006_late_entries": []
  }
}

const firstSteps = ({ migrations, table }: Migrations.MigrationSet, count: number): Migrations.MigrationSet => ({
  table,
  migrations: Object.fromEntries(Object.entries(migrations).slice(0, count))
})

/** The rows as the present program reads them. */
const read = Effect.gen(function*() {
  const user = yield* Effect.flatten(Effect.flatMap(Users.Users, ({ findByEmail }) => findByEmail("ada@example.test")))
  const application = yield* Effect.flatten(
    Effect.flatMap(Application.ApplicationStore, ({ find }) => find(Application.ApplicationId.make(1)))
  )
  const subscription = yield* Effect.flatten(
    Effect.flatMap(Subscription.SubscriptionStore, ({ findByApplication }) => findByApplication(application.id))
  )
  const { grant } = yield* Effect.flatten(
    Effect.flatMap(Grant.GrantStore, ({ find }) => find(application.id, user.id))
  )
  const registration = yield* Effect.flatten(
    Effect.flatMap(Registration.RegistrationStore, ({ find }) => find(Registration.RegistrationId.make(1)))
  )
  const delivery = yield* Effect.flatten(
    Effect.flatMap(Delivery.DeliveryStore, ({ find }) => find(Delivery.DeliveryId.make(1)))
  )
  const lines = yield* Effect.flatMap(
    AuditLog.AuditLog,
    ({ list }) => list({ ...AuditLog.everything, limit: 10 })
  )
  return { user, application, subscription, grant, registration, delivery, lines }
})

describe("upgrades", () => {
  it("every migration has its own rows", () => {
    for (const { migrations: steps, table } of migrations) {
      expect(Object.keys(rows[table] ?? {})).toEqual(Object.keys(steps))
    }
  })

  for (const set of migrations) {
    Object.keys(set.migrations).forEach((step, index) =>
      it.live(`from ${step} of ${set.table}: everything is read as it was written`, () =>
        Effect.gen(function*() {
          const { admin, url } = yield* TestDatabase.TestDatabase
          for (const other of migrations) {
            const count = other === set ? index + 1 : 1
            for (const [place, name] of Object.keys(other.migrations).slice(0, count).entries()) {
              const earlier = Migrations.run(firstSteps(other, place + 1))
              yield* Effect.scoped(Effect.provide(earlier, PgClient.layer({ url })))
              for (const text of rows[other.table]?.[name] ?? []) yield* Effect.promise(() => admin.query(text))
            }
          }
          const stores = Layer.mergeAll(Users.layer, AuditLog.layer).pipe(
            Layer.provideMerge(Postgres.layer({ url, migrations: migrations.slice(1) })),
            Layer.provide(fixtures.seal)
          )
          const found = yield* Effect.provide(read, stores)
          expect(found.user).toMatchObject({ role: "platform", email: "Ada@example.test", firstName: "Ada" })
          expect(found.application).toMatchObject({ version: 3, name: "App", requirePkce: true, state: "active" })
          expect(found.subscription).toMatchObject({ callbackUrl: "https://app.test/events", paused: false })
          expect(found.grant).toMatchObject({ status: "active", scope: ["read"], epoch: 2, generation: 7, version: 9 })
          expect(Option.map(found.grant.refresh, ({ hash }) => String(hash))).toEqual(Option.some("f"))
          expect(found.registration.updates).toEqual({ registration_status: "confirmed" })
          expect(found.delivery.event).toMatchObject({ id: "evt_1", updates: { registration_status: "confirmed" } })
          expect(found.lines.map(({ action, outcome }) => [action, outcome])).toEqual([
            ["login_failed", "refused"],
            ["login", "success"]
          ])
        }).pipe(Effect.provide(TestDatabase.layerEmpty)))
    )
  }
})
