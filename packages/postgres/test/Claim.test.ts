import { SqlClient } from "@effect/sql"
import { it } from "@effect/vitest"
import { DeliveryQueue, Subscription } from "@startlist/core"
import { Postgres } from "@startlist/postgres"
import { DateTime, Effect, FastCheck, Runtime } from "effect"
import { describe, expect } from "vitest"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as Partitions from "./support/partitions.ts"

const now = 20

/** Times after it have passed: the clock was set back. */
const latest = now + 3

const isPast = (time: number) => time <= now || time > latest
const subscriptions = [1, 2, 3, 4, 5]

/** Rows of the queue: `mayLead` is the hint that a delivery is the first of its object, where it is not. */
const queue = FastCheck.array(
  FastCheck.record({
    subscription: FastCheck.constantFrom(...subscriptions),
    object: FastCheck.integer({ min: 1, max: 6 }),
    due: FastCheck.integer({ min: 0, max: now + 5 }),
    leaseEnds: FastCheck.constantFrom(null, now - 1, now, now + 1, latest, latest + 1),
    isPending: FastCheck.boolean(),
    mayLead: FastCheck.boolean()
  }),
  { maxLength: 60 }
)

const request = FastCheck.record({
  limit: FastCheck.integer({ min: 1, max: 12 }),
  perSubscription: FastCheck.integer({ min: 1, max: 5 }),
  allowances: FastCheck.dictionary(FastCheck.constantFrom("1", "2", "3"), FastCheck.integer({ min: 0, max: 4 }))
})

interface Row {
  readonly subscription: number
  readonly object: number
  readonly due: number
  readonly leaseEnds: number | null
  readonly isPending: boolean
  readonly mayLead: boolean
}

interface Request {
  readonly limit: number
  readonly perSubscription: number
  readonly allowances: Readonly<Record<string, number>>
}

/** The first pending delivery of an object for a subscription. */
const leads = (rows: ReadonlyArray<Row>, row: Row) =>
  row.isPending &&
  rows.find(({ isPending, object, subscription }) =>
      isPending && object === row.object && subscription === row.subscription
    ) === row

/** The rule of the port as a plain loop: the numbers of the rows to claim, in order. */
const expected = (
  rows: ReadonlyArray<Row>,
  { allowances, limit, perSubscription }: Request,
  dueOf: (row: Pick<Row, "due">) => number
) => {
  const taken = new Map<number, number>()
  return rows
    .map((row, index) => ({ ...row, id: index + 1, leads: leads(rows, row) }))
    .filter(({ due, leads, leaseEnds }) => leads && isPast(due) && isPast(leaseEnds ?? 0))
    .sort((a, b) => dueOf(a) - dueOf(b) || a.id - b.id)
    .filter(({ subscription }) => {
      const count = (taken.get(subscription) ?? 0) + 1
      taken.set(subscription, count)
      return count <= (allowances[subscription] ?? perSubscription)
    })
    .slice(0, limit)
    .map(({ id }) => id)
}

const instant = (millis: number) => DateTime.unsafeMake(millis)

describe("a claim", () => {
  it.live.each([
    // Only here, a late delivery is made due before the claim.
    { from: "a table", prepare: () => Effect.void, dueOf: ({ due }: Pick<Row, "due">) => due > latest ? now : due },
    { from: "partitions", prepare: Partitions.divide, dueOf: ({ due }: Pick<Row, "due">) => due }
  ])(
    "takes exactly the earliest due deliveries from $from, within the limit and the allowances, for any queue",
    ({ dueOf, prepare }) =>
      Effect.gen(function*() {
        const { admin, url } = yield* TestDatabase.TestDatabase
        yield* Postgres.migrate({ url })
        yield* prepare(admin)
        yield* Effect.gen(function*() {
          const store = yield* DeliveryQueue.DeliveryQueue
          const runPromise = Runtime.runPromise(yield* Effect.runtime<never>())
          const fill = async (rows: ReadonlyArray<Row>) => {
            await admin.query("TRUNCATE startlist_deliveries")
            await admin.query(
              `INSERT INTO startlist_deliveries (id, application_id, subscription_id, event_id, aspect_type, object_type,
                object_id, event_time, due_at, lease_ends, state, head)
              OVERRIDING SYSTEM VALUE
              SELECT id, subscription, subscription, 'evt_' || id, 'u', 'r', object, 0, due, "leaseEnds", state, head
              FROM json_to_recordset($1::json) AS i(id bigint, subscription bigint, object bigint, due bigint,
                "leaseEnds" bigint, state "char", head boolean)`,
              [JSON.stringify(rows.map((row, index) => ({
                ...row,
                id: index + 1,
                state: row.isPending ? "p" : "d",
                head: row.mayLead || leads(rows, row)
              })))]
            )
          }
          yield* Effect.promise(() =>
            admin.query(
              `INSERT INTO startlist_applications
                (id, version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, signing_version, signing_secrets)
              OVERRIDING SYSTEM VALUE
              SELECT i, 1, 1, 'App', '[]', false, '[]', 0, 1, '[]' FROM generate_series(1, ${subscriptions.length}) i;
              INSERT INTO startlist_subscriptions (id, application_id, version, callback_url, created_at, updated_at)
            OVERRIDING SYSTEM VALUE SELECT i, i, 1, 'https://a', 0, 0 FROM generate_series(1, ${subscriptions.length}) i`
            )
          )
          const property = FastCheck.asyncProperty(
            queue,
            request,
            async (rows, { allowances, limit, perSubscription }) => {
              await fill(rows)
              const claimed = await runPromise(store.claim({
                now: instant(now),
                leaseEnds: instant(1000),
                latest: instant(latest),
                token: "token",
                limit,
                perSubscription,
                allowances: new Map(
                  Object.entries(allowances).map(([id, count]) => [Subscription.SubscriptionId.make(Number(id)), count])
                )
              }))
              expect(claimed.map(({ delivery }) => delivery.id)).toEqual(
                expected(rows, { allowances, limit, perSubscription }, dueOf)
              )
            }
          )
          yield* Effect.promise(() => FastCheck.assert(property, { numRuns: 60 }))
        }).pipe(Effect.provide(Postgres.layer({ url })))
      }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal]))
  )

  it.live("inside the caller's transaction does not change how that commits", () =>
    Effect.gen(function*() {
      const { url } = yield* TestDatabase.TestDatabase
      yield* Effect.gen(function*() {
        const store = yield* DeliveryQueue.DeliveryQueue
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql.withTransaction(Effect.zipRight(
          store.claim({
            now: instant(now),
            leaseEnds: instant(1000),
            token: "token",
            limit: 1,
            perSubscription: 1,
            allowances: new Map()
          }),
          sql`SHOW synchronous_commit`
        ))
        expect(rows).toEqual([{ synchronous_commit: "on" }])
      }).pipe(Effect.provide(Postgres.layer({ url })))
    }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal])))
})
