import { it } from "@effect/vitest"
import {
  Application,
  Delivery,
  Event,
  Grant,
  GrantStore,
  Registration,
  Secrets,
  Subscription,
  Token,
  User
} from "@startlist/core"
import { Database, Postgres } from "@startlist/postgres"
import { DateTime, Effect, Layer, Option, Redacted } from "effect"
import { describe, expect } from "vitest"
import { claimStatement } from "../src/internal/claim.ts"
import { promoteText, recordText } from "../src/internal/settle.ts"
import * as stores from "../src/internal/stores.ts"
import * as fixtures from "./support/fixtures.ts"
import * as TestDatabase from "./support/TestDatabase.ts"

/** 100 000 rows in every table; one subscription has half of the pending deliveries. */
const fill = `
  INSERT INTO startlist_users (role, email, email_key, first_name, last_name)
    SELECT 'athlete', i || '@a.test', i || '@a.test', 'A', 'B' FROM generate_series(1, 100000) i;
  INSERT INTO startlist_applications (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at)
    SELECT 1, i % 1000, 'App', '[]', false, '[]', 0 FROM generate_series(1, 100000) i;
  INSERT INTO startlist_grants SELECT i, i % 5000, 1, true, 'athlete', '["read"]', 1, 1, 0, 0 FROM generate_series(1, 100000) i;
  INSERT INTO startlist_codes SELECT i, i, 'c' || i, 1, 'https://a', '[]', null, null, i, false FROM generate_series(1, 100000) i;
  INSERT INTO startlist_refresh_tokens SELECT i, i, 'r' || i, 1, 1, i FROM generate_series(1, 100000) i;
  INSERT INTO startlist_access_tokens SELECT i, i, 'a' || i, 1, '[]', 0, i FROM generate_series(1, 100000) i;
  INSERT INTO startlist_subscriptions (application_id, version, callback_url, signing_secrets, created_at, updated_at)
    SELECT i, 1, 'https://a', '[]', 0, 0 FROM generate_series(1, 100000) i;
  INSERT INTO startlist_registrations (version, athlete_id, updates) SELECT 1, i, '{}' FROM generate_series(1, 100000) i;
  INSERT INTO startlist_events (id, aspect_type, object_type, object_id, time, remaining)
    SELECT 'evt_' || i, 'updated', 'registration', i, i, 1 FROM generate_series(1, 100000) i;
  INSERT INTO startlist_deliveries
      (application_id, subscription_id, event_seq, object_id, due_at, ended_at, object_type, state, head)
    SELECT s, s, i, i % 20000, i, CASE WHEN i % 2 = 0 THEN i END, 'r', CASE WHEN i % 2 = 0 THEN 'd' ELSE 'p' END, i <= 20000
    FROM (SELECT i, CASE WHEN i % 4 = 1 THEN 1 ELSE i % 500 + 1 END AS s FROM generate_series(1, 100000) i) x;
`

interface Recorded {
  readonly statement: Database.Statement
  readonly parameters: ReadonlyArray<Database.Parameter>
}

/** The stores over a database that remembers what it was asked. */
const recording = (database: Database.Database["Type"], recorded: Map<string, Recorded>) =>
  Layer.provide(
    stores.layer,
    Layer.succeed(Database.Database, {
      ...database,
      query: (statement, parameters) => {
        recorded.set(statement.name, { statement, parameters })
        return database.query(statement, parameters)
      }
    })
  )

const instant = (millis: number) => DateTime.unsafeMake(millis)

/** Every method of every store once. */
const everything = Effect.gen(function*() {
  const { make } = Secrets.TokenHash
  const [application, user] = [Application.ApplicationId.make(7), User.UserId.make(7)]
  const users = yield* User.UserStore
  yield* users.find(user)
  yield* users.findByEmail("7@a.test")
  yield* users.insert({ role: "platform", email: "new@a.test", firstName: "A", lastName: "B" })
  const applications = yield* Application.ApplicationStore
  const found = Option.getOrThrow(yield* applications.find(application))
  yield* applications.list({ owner: Option.none(), after: Option.some(application), limit: 10 })
  yield* applications.list({ owner: Option.some(user), after: Option.none(), limit: 10 })
  yield* applications.insert(found)
  yield* applications.save(Application.change(found, { name: "Other" }))
  const grants = yield* GrantStore.GrantStore
  yield* grants.findByCode(make("c7"))
  yield* grants.findByRefresh(make("r7"))
  yield* grants.findByAccess(make("a7"))
  yield* grants.listByUser(user)
  const grant = Option.getOrThrow(yield* grants.find(application, user))
  const event = Event.Event.make({
    id: Event.EventId.make("evt_new"),
    aspectType: "updated",
    objectType: "registration",
    objectId: 7,
    updates: Registration.emptyUpdates,
    time: instant(0)
  })
  const toAll = { event, audience: Event.Audience.GrantedBy({ userIds: [user] }) }
  const token = { hash: make("new"), epoch: 1, expiresAt: instant(0) }
  yield* grants.save({
    grant: Grant.Grant.make({ ...grant, version: 2 }),
    code: Option.some(
      Token.Code.make({
        ...token,
        redirectUri: "https://a",
        scope: [],
        state: Option.none(),
        challenge: Option.none(),
        redeemed: false
      })
    ),
    redeemed: Option.some(make("c7")),
    issued: Option.some({
      access: Token.AccessToken.make({ ...token, scope: [], createdAt: instant(0) }),
      refresh: Token.RefreshToken.make({ ...token, generation: 1 })
    }),
    outgoing: [toAll]
  })
  yield* grants.save(Grant.revokeByUser(Grant.Grant.make({ ...grant, version: 2 }), event.id, instant(0)))
  yield* grants.purge({ tokens: instant(5), codes: instant(5), limit: 1000 })
  const subscriptions = yield* Subscription.SubscriptionStore
  const subscription = Option.getOrThrow(yield* subscriptions.findByApplication(application))
  yield* Effect.flip(subscriptions.insert(subscription))
  yield* subscriptions.save(
    Subscription.rotateSecret(subscription, Redacted.make("whsec_x"), instant(0), instant(0))
  )
  const registrations = yield* Registration.RegistrationStore
  const registration = yield* registrations.insert({
    parties: { athleteId: user, organizerId: Option.none(), clubId: Option.none(), platformUserId: Option.none() },
    updates: Registration.emptyUpdates
  })
  yield* registrations.find(registration.id)
  yield* registrations.save(new Registration.Registration({ ...registration, version: 2 }), [toAll])
  const deliveries = yield* Delivery.DeliveryStore
  const claimed = yield* deliveries.claim({
    now: instant(1_000_000),
    leaseEnds: instant(2_000_000),
    token: "token",
    limit: 256,
    perSubscription: 16,
    allowances: new Map([[subscription.id, 1]])
  })
  yield* deliveries.settle(claimed.map(({ delivery, token }) => ({
    token,
    delivery: Delivery.Delivery.make({ ...delivery, state: "delivered", endedAt: Option.some(instant(1_000_000)) })
  })))
  const one = Option.getOrThrow(yield* deliveries.find(Delivery.DeliveryId.make(1)))
  yield* deliveries.again(one, instant(0))
  for (const applicationId of [Option.none(), Option.some(application)]) {
    yield* deliveries.list({ applicationId, state: Option.none(), after: Option.none(), limit: 50 })
    yield* deliveries.list({ applicationId, state: Option.some("pending"), after: Option.some(one.id), limit: 50 })
  }
  yield* deliveries.attemptsByHour({ applicationId: application, from: instant(0), limit: 1000 })
  yield* deliveries.purge(instant(5), 1000)
  yield* subscriptions.remove(Subscription.SubscriptionId.make(7), instant(0))
  return { claimed: claimed.length }
})

/** What the function does that settles: a plan of the call does not show it. */
const inSettle: ReadonlyArray<Recorded> = [
  {
    statement: { name: "record", text: recordText("startlist_") },
    parameters: [JSON.stringify([{ id: 1, token: "token", state: "d", attempts: [], due_at: 1, ended_at: 1 }])]
  },
  { statement: { name: "promote", text: promoteText("startlist_", "$1::bigint[]") }, parameters: ["{1,3}"] }
]

const literal = (value: Database.Parameter) =>
  value === null ? "NULL" : typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value)

/** The tables that a plan reads from one end to the other. */
const scanned = (plan: unknown): ReadonlyArray<string> => {
  if (Array.isArray(plan)) return plan.flatMap(scanned)
  if (typeof plan !== "object" || plan === null) return []
  const own = "Node Type" in plan && plan["Node Type"] === "Seq Scan" && "Relation Name" in plan
    ? [String(plan["Relation Name"])]
    : []
  return [...own, ...Object.values(plan).flatMap(scanned)]
}

describe("the queries", () => {
  it.live(
    "none of them reads a table of 100 000 rows from end to end, planned for its values or for all",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* TestDatabase.TestDatabase
        const recorded = new Map<string, Recorded>()
        const plans = yield* Effect.gen(function*() {
          const database = yield* Database.Database
          yield* Effect.promise(() => admin.query(fill))
          yield* Effect.promise(() => admin.query("VACUUM ANALYZE"))
          const { claimed } = yield* Effect.provide(everything, recording(database, recorded))
          expect(claimed).toBe(256)
          for (const part of inSettle) recorded.set(part.statement.name, part)
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
                return { statement: statement.name, mode, scanned: scanned(rows) }
              })))
        }).pipe(Effect.provide(Postgres.layerWith({ url })))
        expect(recorded.size).toBeGreaterThanOrEqual(35)
        expect(
          plans.flat().filter((plan) =>
            plan.scanned.length > 0
          )
        ).toEqual([])
      }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal])),
    120_000
  )

  it.live(
    "a claim walks through no backlog: 100 000 events of one object, whose first waits, and one of another",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* TestDatabase.TestDatabase
        yield* Postgres.migrate({ url })
        yield* Effect.promise(() => admin.query(backlog))
        yield* Effect.promise(() => admin.query("VACUUM ANALYZE"))
        const claimed = yield* claimAll.pipe(Effect.provide(Postgres.layerWith({ url })))
        expect(claimed).toEqual([[2, 3], [1, 2]])
        const { text } = claimStatement("startlist_")
        const { rows } = yield* Effect.promise(() =>
          admin.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [3_000_000, 4_000_000, "again", 256, 16, "{}"])
        )
        expect(touched(rows)).toBeGreaterThan(0)
        expect(touched(rows)).toBeLessThan(100)
      }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal])),
    120_000
  )

  it.live(
    "a change that 100 subscriptions hear of walks through no backlog, though the statistics know of none",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* TestDatabase.TestDatabase
        yield* Postgres.migrate({ url })
        yield* Effect.promise(() => admin.query(audience))
        yield* Effect.promise(() => admin.query("VACUUM ANALYZE"))
        yield* Effect.promise(() => admin.query(burst))
        const recorded = new Map<string, Recorded>()
        yield* Effect.gen(function*() {
          const database = yield* Database.Database
          yield* Effect.provide(changeOnce, recording(database, recorded))
        }).pipe(Effect.provide(Postgres.layerWith({ url })))
        const save = recorded.get("startlist_registration_save")
        // The same once more, to be watched.
        yield* Effect.promise(() => admin.query("UPDATE startlist_registrations SET version = 1"))
        const { rows } = yield* Effect.promise(() =>
          admin.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${save?.statement.text}`, [...save?.parameters ?? []])
        )
        const { rows: [told] } = yield* Effect.promise(() =>
          admin.query("SELECT count(*)::integer AS count FROM startlist_deliveries WHERE object_id = 1 AND NOT head")
        )
        expect(told).toEqual({ count: 200 })
        expect(touched(rows)).toBeGreaterThanOrEqual(100)
        expect(touched(rows)).toBeLessThan(1000)
      }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal])),
    120_000
  )
})

/** One athlete with a registration, who has granted 100 applications access that have subscribed. */
const audience = `
  INSERT INTO startlist_grants SELECT i, 1, 1, true, 'athlete', '["read"]', 1, 1, 0, 0 FROM generate_series(1, 100) i;
  INSERT INTO startlist_subscriptions (application_id, version, callback_url, signing_secrets, created_at, updated_at)
    SELECT i, 1, 'https://a', '[]', 0, 0 FROM generate_series(1, 100) i;
  INSERT INTO startlist_registrations (version, athlete_id, updates) VALUES (1, 1, '{}');
  INSERT INTO startlist_events (id, aspect_type, object_type, object_id, time, remaining)
    SELECT 'evt_' || i, 'updated', 'registration', i, i, 100 FROM generate_series(1, 200) i;
`

/** For each of them 200 deliveries that wait, one of them about that registration. */
const burst = `
  INSERT INTO startlist_deliveries (application_id, subscription_id, event_seq, object_id, due_at, object_type, state, head)
    SELECT s, s, e, e, 0, 'r', 'p', true FROM generate_series(1, 200) e, generate_series(1, 100) s;
`

const changeOnce = Effect.gen(function*() {
  const registrations = yield* Registration.RegistrationStore
  const found = Option.getOrThrow(yield* registrations.find(Registration.RegistrationId.make(1)))
  yield* registrations.save(
    new Registration.Registration({ ...found, updates: Registration.emptyUpdates, version: 2 }),
    [{
      event: Event.Event.make({
        id: Event.EventId.make("evt_new"),
        aspectType: "updated",
        objectType: "registration",
        objectId: 1,
        updates: Registration.emptyUpdates,
        time: instant(0)
      }),
      audience: Event.Audience.GrantedBy({ userIds: [User.UserId.make(1)] })
    }]
  )
})

const claimAll = Effect.gen(function*() {
  const deliveries = yield* Delivery.DeliveryStore
  const claims = yield* deliveries.claim({
    now: instant(1_000_000),
    leaseEnds: instant(2_000_000),
    token: "token",
    limit: 256,
    perSubscription: 16,
    allowances: new Map()
  })
  return claims.map(({ delivery, subscription }) => [subscription.id, delivery.event.objectId])
})

/** How many deliveries a plan has looked at when it ran. */
const touched = (plan: unknown): number => {
  if (Array.isArray(plan)) return plan.reduce((sum: number, part) => sum + touched(part), 0)
  if (typeof plan !== "object" || plan === null) return 0
  const node: Readonly<Record<string, unknown>> = { ...plan }
  const own = node["Relation Name"] === "startlist_deliveries" && String(node["Node Type"]).includes("Scan")
    ? (Number(node["Actual Rows"]) + Number(node["Rows Removed by Filter"] ?? 0)) * Number(node["Actual Loops"])
    : 0
  return own + touched(Object.values(plan))
}

/** Subscription 1 has a backlog behind a delivery that is not due yet, and one delivery more; subscription 2 has one. */
const backlog = `
  INSERT INTO startlist_subscriptions (application_id, version, callback_url, signing_secrets, created_at, updated_at)
    SELECT i, 1, 'https://a', '[]', 0, 0 FROM generate_series(1, 2) i;
  INSERT INTO startlist_events (id, aspect_type, object_type, object_id, time, remaining)
    SELECT 'evt_' || i, 'updated', 'registration', CASE i WHEN 100001 THEN 2 WHEN 100002 THEN 3 ELSE 1 END, i, 1
    FROM generate_series(1, 100002) i;
  INSERT INTO startlist_deliveries
      (application_id, subscription_id, event_seq, object_id, due_at, object_type, state, head)
    SELECT s, s, seq, object_id, CASE seq WHEN 1 THEN 9000000 WHEN 100002 THEN 1 ELSE seq END, 'r', 'p', seq IN (1, 100001, 100002)
    FROM (SELECT *, CASE seq WHEN 100002 THEN 2 ELSE 1 END AS s FROM startlist_events ORDER BY seq) e;
`
