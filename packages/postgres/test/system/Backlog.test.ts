import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as TestServer from "@startlist/test-support/TestServer"
import { it } from "@effect/vitest"
import { DeliveryQueue, Event, Registration, Subscription, User } from "@startlist/core"
import { Database, Postgres } from "@startlist/postgres"
import { DateTime, Effect, Option, Schedule } from "effect"
import { describe, expect } from "vitest"
import { claimStatements } from "../../src/internal/dialect/server.ts"
import { recordText } from "../../src/internal/queue.ts"
import { compared, firstColumns, type Recorded, recording, scannedBy, touched } from "../support/plans.ts"

const instant = (millis: number) => DateTime.unsafeMake(millis)

describe("a backlog", () => {
  it.live(
    "a claim scans no backlog: 100 000 events of one object, whose first waits, and one of another object",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* TestDatabase.TestDatabase
        yield* Postgres.migrate({ url })
        yield* Effect.promise(() => admin.query(backlog))
        yield* Effect.promise(() => admin.query("VACUUM ANALYZE"))
        const claimed = yield* claimAll.pipe(Effect.provide(Postgres.layer({ url })))
        expect(claimed).toEqual([[2, 3], [1, 2]])
        const { quick, thorough } = claimStatements("startlist_")
        for (const { text } of [thorough, quick]) {
          const { rows } = yield* Effect.promise(() =>
            admin.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [
              3_000_000,
              4_000_000,
              "again",
              256,
              16,
              "{}",
              true,
              10_000_000
            ])
          )
          expect(touched(rows)).toBeGreaterThan(0)
          expect(touched(rows)).toBeLessThan(100)
          yield* Effect.promise(() => admin.query("UPDATE startlist_deliveries SET lease_ends = NULL"))
        }
      }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal]))
  )

  it.live(
    "a claim reads few more than it takes of 20 000 due deliveries, although the statistics know of none",
    () =>
      Effect.gen(function*() {
        const { admin } = yield* unexpected
        const { quick } = claimStatements("startlist_")
        const { rows: [claimed] } = yield* Effect.promise(() =>
          admin.query(quick.text, [1, 2, "token", 128, 256, "{}", true, 1000])
        )
        expect(claimed.deliveries.length).toBe(128)
        const { rows } = yield* Effect.promise(() =>
          admin.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${quick.text}`, [1, 2, "again", 128, 256, "{}", true, 1000])
        )
        expect(touched(rows)).toBeGreaterThanOrEqual(128)
        expect(touched(rows)).toBeLessThan(1500)
      }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal]))
  )

  it.live("a claim reads few pages to find the first event of each of 20 000 objects of one subscription", () =>
    Effect.gen(function*() {
      const { admin, url } = yield* TestDatabase.TestDatabase
      yield* Postgres.migrate({ url })
      yield* Effect.promise(() => admin.query(audience + objects))
      yield* Effect.promise(() => admin.query("VACUUM ANALYZE"))
      const { quick, thorough } = claimStatements("startlist_")
      for (const { text } of [thorough, quick]) {
        const { rows: [{ "QUERY PLAN": [{ Plan: plan }] }] } = yield* Effect.promise(() =>
          admin.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, [1, 2, "token", 256, 256, "{}", true, 1000])
        )
        // A page for each level of an index, and those that the update of a row touches.
        expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(256 * 40)
      }
    }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal])))

  it.live(
    "settling compares no delivery with the others of its batch, although the statistics know of none",
    () =>
      Effect.gen(function*() {
        const { admin } = yield* unexpected
        const { quick } = claimStatements("startlist_")
        const { rows: [{ deliveries }] } = yield* Effect.promise(() =>
          admin.query(quick.text, [1, 2, "token", 256, 256, "{}", true, 1000])
        )
        const settlements = deliveries.map((
          { id, subscription_id }: { readonly id: number; readonly subscription_id: number }
        ) => ({
          id,
          application_id: subscription_id,
          token: "token",
          state: "d",
          attempts: [],
          due_at: 0,
          ended_at: 1
        }))
        const { rows } = yield* Effect.promise(() =>
          admin.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${recordText("startlist_")}`, [JSON.stringify(settlements)])
        )
        expect(touched(rows)).toBeGreaterThanOrEqual(256)
        expect(touched(rows)).toBeLessThan(1000)
        expect(compared(rows)).toBe(0)
      }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal]))
  )

  it.live(
    "a change with events for 100 subscriptions scans no backlog, although the statistics know of none",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* unexpected
        const recorded = new Map<string, Recorded>()
        yield* Effect.gen(function*() {
          const database = yield* Database.Database
          yield* Effect.provide(changeOnce, recording(database, recorded))
        }).pipe(Effect.provide(Postgres.layer({ url })))
        const save = recorded.get("startlist_registration_save_one")
        // Repeat it with a recorded plan.
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
        const scanned = scannedBy(yield* firstColumns(admin))(rows)
        expect(scanned.filter((name) => name.startsWith("startlist_deliveries"))).toEqual([])
      }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal]))
  )

  it.live("the end of a subscription cancels 100 001 pending deliveries, at most 5 000 in one transaction", () =>
    Effect.gen(function*() {
      const { admin, url } = yield* TestDatabase.TestDatabase
      yield* Postgres.migrate({ url })
      yield* Effect.promise(() => admin.query(backlog))
      const removed = yield* Effect.flatMap(
        Subscription.SubscriptionStore,
        (subscriptions) => subscriptions.remove(Subscription.SubscriptionId.make(1), instant(1))
      ).pipe(Effect.provide(Postgres.layer({ url })))
      expect(removed).toBe(true)
      const { rows } = yield* Effect.promise(() =>
        admin.query(
          `SELECT application_id::integer AS application, state, sum(count)::integer AS count, max(count)::integer AS most
          FROM (SELECT application_id, state, count(*) FROM startlist_deliveries GROUP BY application_id, state, xmin) d
          GROUP BY 1, 2 ORDER BY 1`
        )
      )
      expect(rows).toEqual([
        { application: 1, state: "c", count: 100_001, most: 5000 },
        { application: 2, state: "p", count: 1, most: 1 }
      ])
    }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal])))

  it.live(
    "dead entries of 25 000 deliveries are removed soon, for any number of ended deliveries",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.make({ autovacuum_naptime: "1s" })
        const { admin, url } = yield* TestDatabase.create(server.url)
        yield* Postgres.migrate({ url })
        const run = (text: string) => Effect.promise(() => admin.query(text))
        const vacuums = Effect.map(
          run("SELECT autovacuum_count AS count FROM pg_stat_user_tables WHERE relname = 'startlist_deliveries'"),
          ({ rows }) => Number(rows[0]?.count)
        )
        yield* run(history + history)
        yield* run("VACUUM ANALYZE startlist_deliveries")
        const before = yield* vacuums
        yield* run("UPDATE startlist_deliveries SET due_at = 1 WHERE id <= 25000")
        yield* Effect.repeat(vacuums, {
          until: (count) => count > before,
          schedule: Schedule.spaced("100 millis")
        })
      }).pipe(Effect.scoped)
  )
})

/** An athlete with a registration, who has granted access to 100 subscribed applications. */
const audience = `
  INSERT INTO startlist_grants (application_id, user_id, active, consent, access, generation, version)
    SELECT i, 1, true, '{"role":"athlete","scope":["read"],"epoch":1,"at":0}', '', 1, 1 FROM generate_series(1, 100) i;
  INSERT INTO startlist_applications
      (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, signing_version, signing_secrets)
    SELECT 1, 1, 'App', '[]', false, '[]', 0, 1, '[]' FROM generate_series(1, 100) i;
  INSERT INTO startlist_subscriptions (application_id, version, callback_url, created_at, updated_at)
    SELECT i, 1, 'https://a', 0, 0 FROM generate_series(1, 100) i;
  INSERT INTO startlist_registrations (version, athlete_id, updates) VALUES (1, 1, '{}');
`

/** Ended deliveries, so that a pending delivery is one of many rows. */
const history = `
  INSERT INTO startlist_deliveries
      (application_id, subscription_id, event_id, aspect_type, object_type, object_id, event_time, due_at, ended_at, state,
        head)
    SELECT 1, 1, 'evt_1', 'u', 'r', 1, 1, 0, 0, 'd', true FROM generate_series(1, 100000);
`

/** 200 pending deliveries per application, one of them about that registration. */
const burst = `
  INSERT INTO startlist_deliveries
      (application_id, subscription_id, event_id, aspect_type, object_type, object_id, event_time, due_at, state, head)
    SELECT s, s, 'evt_' || e, 'u', 'r', e, e, 0, 'p', true FROM generate_series(1, 200) e, generate_series(1, 100) s;
`

/** A pending delivery about each of 20 000 registrations. */
const objects = `
  INSERT INTO startlist_deliveries
      (application_id, subscription_id, event_id, aspect_type, object_type, object_id, event_time, due_at, state, head)
    SELECT 1, 1, 'evt_' || i, 'u', 'r', i, i, 0, 'p', true FROM generate_series(1, 20000) i;
`

/** The burst comes after the statistics. */
const unexpected = Effect.gen(function*() {
  const database = yield* TestDatabase.TestDatabase
  const { admin, url } = database
  yield* Postgres.migrate({ url })
  yield* Effect.promise(() => admin.query(audience + history))
  yield* Effect.promise(() => admin.query("VACUUM ANALYZE"))
  yield* Effect.promise(() => admin.query(burst))
  return database
})

const changeOnce = Effect.gen(function*() {
  const registrations = yield* Registration.RegistrationStore
  const found = Option.getOrThrow(yield* registrations.find(Registration.RegistrationId.make(1)))
  yield* registrations.save(
    { ...found, updates: Registration.emptyUpdates, version: 2 },
    [{
      event: Event.Event.make({
        id: Event.EventId.make("evt_new"),
        aspectType: "updated",
        objectType: "registration",
        objectId: 1,
        updates: Registration.emptyUpdates,
        time: instant(0),
        sequence: 1,
        trace: Option.none()
      }),
      audience: Event.Audience.GrantedBy({ userIds: [User.UserId.make(1)] })
    }]
  )
})

const claimAll = Effect.gen(function*() {
  const deliveries = yield* DeliveryQueue.DeliveryQueue
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

/** Subscription 1 has a backlog after a delivery that is not due yet, and another delivery. Subscription 2 has one. */
const backlog = `
  INSERT INTO startlist_applications
      (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, signing_version, signing_secrets)
    SELECT 1, 1, 'App', '[]', false, '[]', 0, 1, '[]' FROM generate_series(1, 2) i;
  INSERT INTO startlist_subscriptions (application_id, version, callback_url, created_at, updated_at)
    SELECT i, 1, 'https://a', 0, 0 FROM generate_series(1, 2) i;
  INSERT INTO startlist_deliveries
      (application_id, subscription_id, event_id, aspect_type, object_type, object_id, event_time, due_at, state, head)
    SELECT s, s, 'evt_' || i, 'u', 'r', CASE i WHEN 100001 THEN 2 WHEN 100002 THEN 3 ELSE 1 END, i,
      CASE i WHEN 1 THEN 9000000 WHEN 100002 THEN 1 ELSE i END, 'p', i IN (1, 100001, 100002)
    FROM (SELECT i, CASE i WHEN 100002 THEN 2 ELSE 1 END AS s FROM generate_series(1, 100002) i) e;
`
