import * as SqlClient from "@effect/sql/SqlClient"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { it } from "@effect/vitest"
import {
  Application,
  Delivery,
  DeliveryQueue,
  Event,
  Grant,
  PersonalData,
  Registration,
  Subscription,
  User
} from "@startlist/core"
import { Database, Postgres, Users } from "@startlist/postgres"
import { DateTime, Effect, Option, Redacted } from "effect"
import { describe, expect } from "vitest"
import * as Server from "../src/internal/dialect/server.ts"
import { orderingColumns, promoteText, recordText } from "../src/internal/queue.ts"
import { firstColumns, literal, type Recorded, recording, scannedBy } from "./support/plans.ts"

/** 100 000 rows in every table; one subscription has half of the pending deliveries. */
const fill = `
  INSERT INTO startlist_users (role, email, email_key, first_name, last_name)
    SELECT 'athlete', i || '@a.test', i || '@a.test', 'A', 'B' FROM generate_series(1, 100000) i;
  INSERT INTO startlist_applications 
      (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, signing_version, signing_secrets)
    SELECT 1, i % 1000, 'App', '[]', false, '[]', 0, 1, '[]' FROM generate_series(1, 100000) i;
  INSERT INTO startlist_grants (application_id, user_id, active, consent, access, generation, version)
    SELECT i, i % 5000, true, '{"role":"athlete","scope":["read"],"epoch":1,"at":0}', '', 1, 1
    FROM generate_series(1, 100000) i;
  INSERT INTO startlist_subscriptions (application_id, version, callback_url, created_at, updated_at)
    SELECT i, 1, 'https://a', 0, 0 FROM generate_series(1, 100000) i;
  INSERT INTO startlist_people (user_id) SELECT i FROM generate_series(1, 100000) i;
  INSERT INTO startlist_imported_tokens (hash, kind, application_id, user_id, expires_at)
    SELECT i, 'a', 1, i, 0 FROM generate_series(1, 100000) i;
  INSERT INTO startlist_registrations (version, athlete_id, updates) SELECT 1, i, '{}' FROM generate_series(1, 100000) i;
  INSERT INTO startlist_deliveries
      (application_id, subscription_id, event_id, aspect_type, object_type, object_id, event_time, due_at, ended_at, state,
        head)
    SELECT s, s, 'evt_' || i, 'u', 'r', i % 20000, i, i, CASE WHEN i % 2 = 0 THEN i END, CASE WHEN i % 2 = 0 THEN 'd' ELSE 'p' END, i <= 20000
    FROM (SELECT i, CASE WHEN i % 4 = 1 THEN 1 ELSE i % 500 + 1 END AS s FROM generate_series(1, 100000) i) x;
`

/**
 * The same rows, but the statistics are those of a backlog that has ended since: then the planner expects a first row that
 * fulfils any condition at the beginning of the table, where there may be none at all.
 */
const outdate = `
  UPDATE startlist_deliveries SET state = 'p', head = true, ended_at = NULL;
  VACUUM ANALYZE startlist_deliveries;
  UPDATE startlist_deliveries SET log_position = id, head = event_time <= 20000,
    ended_at = CASE WHEN event_time % 2 = 0 THEN event_time END,
    state = CASE WHEN event_time % 2 = 0 THEN 'd'::"char" ELSE 'p' END;
  VACUUM startlist_deliveries;
`

const instant = (millis: number) => DateTime.unsafeMake(millis)

/** Several in parallel. The first may run alone, the others are batched. */
const several = <A, E>(call: (id: number) => Effect.Effect<A, E>) =>
  Effect.forEach([7, 8, 9], call, { concurrency: "unbounded", discard: true })

/** Every method of every store once. Batched methods also several times in parallel. */
const everything = Effect.gen(function*() {
  const [application, user] = [Application.ApplicationId.make(7), User.UserId.make(7)]
  const users = yield* Users.Users
  yield* users.find(user)
  yield* users.findByEmail("7@a.test")
  yield* users.insert({ role: "platform", email: "new@a.test", firstName: "A", lastName: "B" })
  const applications = yield* Application.ApplicationStore
  const found = Option.getOrThrow(yield* applications.find(application))
  yield* applications.list({ owner: Option.none(), after: Option.some(application), limit: 10 })
  yield* applications.list({ owner: Option.some(user), after: Option.none(), limit: 10 })
  yield* applications.insert(found, Redacted.make("whsec_x"))
  yield* applications.save(Application.change(found, { name: "Other" }))
  const signing = Option.getOrThrow(yield* applications.findSigningSecrets(application))
  yield* applications.saveSigningSecrets(
    { ...signing, version: signing.version + 1 }
  )
  const grants = yield* Grant.GrantStore
  yield* grants.listByUser(user)
  yield* grants.listByApplication(application, 10)
  yield* several((id) => users.find(User.UserId.make(id)))
  yield* several((id) => applications.find(Application.ApplicationId.make(id)))
  yield* several((id) => grants.find(application, User.UserId.make(id)))
  const { grant } = Option.getOrThrow(yield* grants.find(application, user))
  const event = Event.Event.make({
    id: Event.EventId.make("evt_new"),
    aspectType: "updated",
    objectType: "registration",
    objectId: 7,
    updates: Registration.emptyUpdates,
    time: instant(0),
    sequence: 1,
    trace: Option.none()
  })
  const toAll = { event, audience: Event.Audience.GrantedBy({ userIds: [user] }) }
  const full: Grant.Change = { grant: Grant.Grant.make({ ...grant, version: 2 }), outgoing: [toAll] }
  yield* grants.save(full)
  for (const version of [1, 2]) {
    yield* several((id) =>
      Effect.ignore(grants.save({
        ...full,
        grant: Grant.Grant.make({ ...grant, userId: User.UserId.make(id), version })
      }))
    )
  }
  yield* grants.save(Grant.revokeByUser(Grant.Grant.make({ ...grant, version: 2 }), event))
  const subscriptions = yield* Subscription.SubscriptionStore
  const subscription = Option.getOrThrow(yield* subscriptions.findByApplication(application))
  yield* Effect.flip(subscriptions.insert(subscription))
  yield* subscriptions.save({ ...subscription, version: subscription.version + 1 })
  const registrations = yield* Registration.RegistrationStore
  const registration = yield* registrations.insert({
    parties: { athleteId: user, organizerId: Option.none(), clubId: Option.none(), platformUserId: Option.none() },
    updates: Registration.emptyUpdates
  })
  yield* registrations.find(registration.id)
  yield* registrations.save({ ...registration, version: 2 }, [toAll])
  yield* several((id) => registrations.find(Registration.RegistrationId.make(id)))
  yield* several((id) =>
    registrations.save(
      { ...registration, id: Registration.RegistrationId.make(id), version: 2 },
      [toAll]
    )
  )
  const persons = yield* PersonalData.PersonStore
  yield* persons.isErased(user)
  yield* persons.registrations(user)
  const person = User.UserId.make(4321)
  const revocations = (yield* grants.listByUser(person)).map((one) => Grant.revokeByUser(one, event))
  yield* persons.erase({ userId: person, at: instant(0), revocations, registrationIds: [] })
  const deliveries = yield* Delivery.DeliveryStore
  const queue = yield* DeliveryQueue.DeliveryQueue
  const fair = { perSubscription: 16, allowances: new Map([[subscription.id, 1]]) }
  const claimed = yield* queue.claim({
    now: instant(1_000_000),
    leaseEnds: instant(2_000_000),
    token: "token",
    limit: 256,
    ...fair
  })
  yield* queue.claim({ now: instant(0), leaseEnds: instant(2), latest: instant(1), token: "late", limit: 1, ...fair })
  yield* queue.release(claimed.slice(0, 1), instant(1_000_000))
  yield* queue.settle(
    claimed.slice(1).map(({ delivery, token }) => ({
      token,
      delivery: Delivery.Delivery.make({ ...delivery, state: "delivered", endedAt: Option.some(instant(1_000_000)) })
    }))
  )
  const one = Option.getOrThrow(yield* deliveries.find(Delivery.DeliveryId.make(1)))
  for (const only of [undefined, "unrepeated", "latest"] as const) yield* queue.again(one, instant(0), only)
  yield* deliveries.repeats([one])
  for (const state of [Option.none(), Option.some("delivered" as const)]) {
    const everything = { text: Option.some("1"), since: Option.none(), until: Option.none(), after: Option.none() }
    for (const applicationId of [Option.none(), Option.some(application)]) {
      const objects = [{ objectType: "registration" as const, objectId: 1 }]
      yield* deliveries.search({ applicationId, state, ...everything, objects, limit: 25, among: 5000 })
    }
  }
  yield* deliveries.attempts(application, instant(0), 5000)
  for (const applicationId of [Option.none(), Option.some(application)]) {
    yield* deliveries.list({ applicationId, state: Option.none(), after: Option.none(), limit: 50 })
    yield* deliveries.list({ applicationId, state: Option.some("pending"), after: Option.some(one.id), limit: 50 })
    yield* deliveries.list({
      applicationId,
      state: Option.some("exhausted"),
      after: Option.none(),
      limit: 50,
      order: "oldest first"
    })
  }
  yield* deliveries.purge(instant(5), 1000)
  yield* subscriptions.remove(Subscription.SubscriptionId.make(7), instant(0))
  return { claimed: claimed.length }
})

/** They find the grants of a user by the primary key, and so read the identifiers of all applications, which are few. */
const ofAllApplications = ["startlist_person_hold_grants", "startlist_person_remove_grants"]

/** The statements of the settling function, which a plan of the call does not show. */
const inSettle: ReadonlyArray<Recorded> = [
  {
    statement: { name: "record", text: recordText("startlist_") },
    parameters: [
      JSON.stringify([{ id: 1, application_id: 1, token: "token", state: "d", attempts: [], due_at: 1, ended_at: 1 }])
    ]
  },
  {
    statement: {
      name: "promote",
      text: promoteText(
        Server.make("startlist_"),
        `unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::"char"[], $5::bigint[]) e(${orderingColumns.join(", ")})`
      )
    },
    parameters: ["{1,3}", "{1,1}", "{1,1}", "{r,r}", "{1,3}"]
  }
]

describe("the queries", () => {
  it.live.each([{ statistics: "new", prepare: [] }, { statistics: "old", prepare: outdate.split(";") }])(
    "none of them scans a table of 100 000 rows, with custom and generic plans, with $statistics statistics",
    ({ prepare }) =>
      Effect.gen(function*() {
        const { admin, url } = yield* TestDatabase.TestDatabase
        const recorded = new Map<string, Recorded>()
        const plans = yield* Effect.gen(function*() {
          const database = yield* Database.Database
          yield* Effect.promise(() => admin.query(fill))
          yield* Effect.promise(() => admin.query("VACUUM ANALYZE"))
          for (const statement of prepare) yield* Effect.promise(() => admin.query(statement))
          const { claimed } = yield* Effect.provide(everything, recording(database, recorded))
          expect(claimed).toBe(256)
          const sql = yield* SqlClient.SqlClient
          const planned = yield* sql<{ readonly name: string; readonly custom_plans: string }>`
            SELECT name, custom_plans FROM pg_prepared_statements`
          expect(planned.map(({ name }) => name)).toContain("startlist_delivery_list_application_pdxcs_DESC")
          expect(planned.filter(({ custom_plans }) => Number(custom_plans) > 0)).toEqual([])
          for (const part of inSettle) recorded.set(part.statement.name, part)
          const scanned = scannedBy(yield* firstColumns(admin))
          const client = yield* Effect.acquireRelease(
            Effect.promise(() => admin.connect()),
            (connection) => Effect.sync(() => connection.release())
          )
          return yield* Effect.forEach(recorded.values(), ({ parameters, statement }) =>
            Effect.forEach(["force_custom_plan", "force_generic_plan"], (mode) =>
              Effect.promise(async () => {
                await client.query(`SET plan_cache_mode = ${mode}`)
                await client.query(`PREPARE q AS ${statement.text}`)
                const values = parameters.length === 0 ? "" : `(${parameters.map(literal).join(", ")})`
                const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE q${values}`)
                await client.query("DEALLOCATE q")
                const [{ "QUERY PLAN": [{ Plan: plan }] }] = rows
                return { statement: statement.name, mode, scanned: scanned(plan), cost: Number(plan["Total Cost"]) }
              })))
        }).pipe(Effect.provide(Postgres.layer({ url, maxConnections: 1 })))
        expect(recorded.size).toBeGreaterThanOrEqual(43)
        expect(
          plans.flat().filter((plan) =>
            plan.scanned.length > 0 && !ofAllApplications.includes(plan.statement)
          )
        ).toEqual([])
        // From 100 000 on, PostgreSQL compiles a plan (jit_above_cost). It takes the cheaper of the two.
        expect(plans.filter((both) => Math.min(...both.map(({ cost }) => cost)) >= 50_000)).toEqual([])
      }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal]))
  )
})
