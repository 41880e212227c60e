import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as ProgramLaws from "@startlist/model/ProgramLaws"
import { it } from "@effect/vitest"
import { Application, Delivery, DeliveryQueue, Event, Grant, Registration, Subscription, User } from "@startlist/core"
import { Database, Postgres } from "@startlist/postgres"
import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import type { Pool } from "pg"
import { describe, expect } from "vitest"
import * as Citus from "../../src/internal/dialect/citus.ts"
import * as stores from "../../src/internal/stores.ts"
import * as Partitions from "../support/partitions.ts"
import * as TwoNodes from "../support/twoNodes.ts"
import { orderingTypes, promoteText, recordText } from "../../src/internal/queue.ts"
import type { Recorded } from "../support/plans.ts"

const opened = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url, migrate: false }))
).pipe(Layer.provide(fixtures.seal))

const divided = Layer.effectDiscard(Effect.flatMap(
  TestDatabase.TestDatabase,
  ({ admin, url }) => Effect.zipRight(Postgres.migrate({ url }), Partitions.divide(admin))
))

const database = Layer.provideMerge(divided, TestDatabase.layer)

const present = Layer.provideMerge(opened, database)

describeSuite(StoreLaws.suite("the stores on hash partitions", present, { reopen: opened }))

describeSuite(ProgramLaws.suite("programs on hash partitions", present, { isExternal: true, numRuns: 8 }))

TwoNodes.suite("two nodes on hash partitions", Layer.orDie(database))

const application = Application.ApplicationId.make(7)
const instant = (millis: number) => DateTime.unsafeMake(millis)

/** Each of 40 applications has deliveries. Those of one are due. It has the grants of all users. */
const contents = `
  INSERT INTO startlist_applications
      (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, signing_version, signing_secrets)
    SELECT 1, 1, 'App', '[]', false, '[]', 0, 1, '[]' FROM generate_series(1, 40) i;
  INSERT INTO startlist_grants (application_id, user_id, active, consent, access, generation, version)
    SELECT ${application}, i, true, '{"role":"athlete","scope":["read"],"epoch":1,"at":0}', '', 1, 1
    FROM generate_series(1, 4000) i;
  INSERT INTO startlist_subscriptions (application_id, version, callback_url, created_at, updated_at)
    SELECT i, 1, 'https://a', 0, 0 FROM generate_series(1, 40) i;
  INSERT INTO startlist_registrations (version, athlete_id, updates) VALUES (1, 1, '{}');
  INSERT INTO startlist_deliveries
      (application_id, subscription_id, event_id, aspect_type, object_type, object_id, event_time, due_at, state, head)
    SELECT a, s.id, 'evt_' || i, 'u', 'r', i % 50 + 1, i, CASE a WHEN ${application} THEN i ELSE 1000000 END, 'p', i <= 50
    FROM generate_series(1, 40) a JOIN startlist_subscriptions s ON s.application_id = a, generate_series(1, 100) i;
  ANALYZE`

/** The operations of requests and workers, for one application and users of one partition. */
const busy = (users: ReadonlyArray<User.UserId>) =>
  Effect.gen(function*() {
    const [user] = users
    if (user === undefined) return
    const event = Event.Event.make({
      id: Event.EventId.make("evt_new"),
      aspectType: "updated",
      objectType: "registration",
      objectId: 1,
      updates: Registration.emptyUpdates,
      time: instant(0),
      sequence: 1,
      trace: Option.none()
    })
    const outgoing = [{ event, audience: Event.Audience.GrantedBy({ userIds: [user] }) }]
    const grants = yield* Grant.GrantStore
    const find = (id: User.UserId) => Effect.map(grants.find(application, id), Option.getOrThrow)
    const save = ({ grant }: Grant.Found, outgoing: Grant.Change["outgoing"] = []) =>
      grants.save({ grant: { ...grant, version: grant.version + 1 }, outgoing })
    yield* save(yield* find(user))
    yield* save(yield* find(user), outgoing)
    const together = { concurrency: "unbounded", discard: true } as const
    yield* Effect.forEach(users, (id) => Effect.flatMap(find(id), save), together)
    yield* Effect.forEach(users, (id) => Effect.flatMap(find(id), (found) => save(found, outgoing)), together)
    const registrations = yield* Registration.RegistrationStore
    const registration = Option.getOrThrow(yield* registrations.find(Registration.RegistrationId.make(1)))
    yield* registrations.save({ ...registration, version: 2 }, outgoing)
    const subscriptions = yield* Subscription.SubscriptionStore
    const subscription = Option.getOrThrow(yield* subscriptions.findByApplication(application))
    yield* subscriptions.save({ ...subscription, version: 2 })
    const queue = yield* DeliveryQueue.DeliveryQueue
    yield* queue.enqueue([{ event, audience: Event.Audience.Application({ applicationId: application }) }])
    const claimed = yield* queue.claim({
      now: instant(1000),
      leaseEnds: instant(2000),
      token: "token",
      limit: 20,
      perSubscription: 20,
      allowances: new Map()
    })
    expect(claimed.length).toBe(20)
    yield* queue.release(claimed.slice(0, 1), instant(1000))
    const settled = claimed.slice(1).map(({ delivery, token }) => ({
      token,
      delivery: Delivery.Delivery.make({ ...delivery, state: "delivered", endedAt: Option.some(instant(1000)) })
    }))
    yield* queue.settle(settled)
    const [first] = settled
    if (first !== undefined) yield* queue.again(first.delivery, instant(1000))
    const deliveries = yield* Delivery.DeliveryStore
    yield* deliveries.log({ applicationId: application, after: 0, limit: 1000 })
    yield* deliveries.list({
      applicationId: Option.some(application),
      state: Option.none(),
      after: Option.none(),
      limit: 10
    })
  })

/** The two statements of the function that settles. Its call has no plan of its own. */
const inSettle = ({ parameters: [given = null] }: Recorded): ReadonlyArray<Recorded> => {
  const dialect = Citus.make("startlist_", Partitions.modulus)
  const ended: unknown = JSON.parse(String(given))
  const keys = Array.isArray(ended)
    ? ended.map(({ application_id, id }) => ({
      id,
      application_id,
      subscription_id: 7,
      object_type: "r",
      object_id: 1
    }))
    : []
  return [
    { statement: { name: "record", text: recordText("startlist_") }, parameters: [given] },
    {
      statement: { name: "promote", text: promoteText(dialect, `json_to_recordset($1::json) AS e(${orderingTypes})`) },
      parameters: [JSON.stringify(keys)]
    }
  ]
}

/** The stores, with what each statement has read. */
const reading = (admin: Pool, database: Database.Database.Service, read: Map<string, ReadonlyArray<string>>) =>
  Layer.provide(
    stores.layer,
    Layer.succeed(Database.Database, {
      ...database,
      query: <Row>(statement: Database.Statement, parameters: ReadonlyArray<Database.Parameter>) => {
        const recorded = { statement, parameters }
        const parts = statement.name.endsWith("_settle") ? inSettle(recorded) : [recorded]
        return Effect.zipRight(
          Effect.forEach(
            parts,
            (part) => Effect.map(Partitions.read(admin, part), (names) => read.set(part.statement.name, names))
          ),
          database.query<Row>(statement, parameters)
        )
      }
    })
  )

describe("an ordering key without a head", () => {
  it.live("has one again after a purge", () =>
    Effect.gen(function*() {
      const { admin } = yield* TestDatabase.TestDatabase
      yield* Effect.promise(() => admin.query(contents))
      const lost = `application_id = ${application} AND object_id = 1`
      yield* Effect.promise(() => admin.query(`UPDATE startlist_deliveries SET head = false WHERE ${lost}`))
      const store = yield* Delivery.DeliveryStore
      yield* store.purge(instant(0), 1)
      const { rows } = yield* Effect.promise(() =>
        admin.query(`SELECT id = min(id) OVER () AS first, head FROM startlist_deliveries WHERE ${lost}`)
      )
      expect(rows.length).toBeGreaterThan(1)
      expect(rows.every(({ first, head }) => first === head)).toBe(true)
    }).pipe(Effect.provide([present, fixtures.seal])))
})

/** Chooses deliveries of all applications. */
const overview = "startlist_delivery_claim_overview"

describe("the statements of requests and workers", () => {
  it.live("read only the partitions that their parameters name, except for the overview of a claim", () =>
    Effect.gen(function*() {
      const { admin } = yield* TestDatabase.TestDatabase
      yield* Effect.promise(() => admin.query(contents))
      const ofUser = yield* Partitions.partitionOf(admin, "grants", 1)
      const others = yield* Effect.filter(
        Array.from({ length: 20 }, (_, index) => index + 2),
        (id) => Effect.map(Partitions.partitionOf(admin, "grants", id), (name) => name === ofUser)
      )
      const named = [
        ofUser,
        yield* Partitions.partitionOf(admin, "subscriptions", application),
        yield* Partitions.partitionOf(admin, "deliveries", application)
      ]
      const read = new Map<string, ReadonlyArray<string>>()
      const recorded = yield* Database.Database
      const users = [1, ...others].map((id) => User.UserId.make(id))
      yield* Effect.provide(busy(users), reading(admin, recorded, read))
      const beyond = [...read].filter(([, names]) => names.some((name) => !named.includes(name)))
      expect(beyond.map(([name]) => name)).toEqual([overview])
      // Nothing is hidden: each partition was read, and each statement was recorded.
      expect(new Set([...read].flatMap(([name, names]) => name === overview ? [] : names))).toEqual(new Set(named))
      expect(read.size).toBeGreaterThanOrEqual(25)
    }).pipe(Effect.provide([present, fixtures.seal])))
})
