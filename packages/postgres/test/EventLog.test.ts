import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { expect, it } from "@effect/vitest"
import { Application, Delivery, DeliveryQueue, Event, Subscription, User } from "@startlist/core"
import { Database } from "@startlist/postgres"
import { SqlClient } from "@effect/sql"
import { DateTime, Deferred, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { vi } from "vitest"
import { makeLog } from "../src/internal/deliveryStore.ts"
import { timedOut } from "../src/internal/statement.ts"

const at = DateTime.unsafeMake(0)

const stores = Layer.provide(
  Layer.unwrapEffect(Effect.map(TestDatabase.TestDatabase, ({ url }) => fixtures.node({ url }))),
  TestDatabase.layer
)

const onPostgres = Effect.provide(stores)

const subscribed = Effect.gen(function*() {
  const applications = yield* Application.ApplicationStore
  const subscriptions = yield* Subscription.SubscriptionStore
  const settings = { name: "App", ownerId: User.UserId.make(1), redirectUris: [], requirePkce: false, secrets: [] }
  const { id: applicationId } = yield* applications.insert({ ...settings, createdAt: at }, Redacted.make("whsec_x"))
  yield* subscriptions.insert({ applicationId, callbackUrl: "https://a.test/", createdAt: at, updatedAt: at })
  return applicationId
})

const enqueue = (applicationId: Application.ApplicationId, objectId: number) =>
  Effect.flatMap(DeliveryQueue.DeliveryQueue, (queue) =>
    queue.enqueue([{
      audience: Event.Audience.Application({ applicationId }),
      event: Event.Event.make({
        id: Event.EventId.make(`evt_${objectId}_${Math.random()}`),
        aspectType: "deleted",
        objectType: "athlete",
        objectId,
        updates: {},
        time: at,
        sequence: 1,
        trace: Option.none()
      })
    }]))

type Log = Delivery.DeliveryStore.Service["log"]

/** Reads all pages, with a concurrent transaction that begins before the first page and is committed after it. */
const besideAnOpenTransaction = (log: Log, applicationId: Application.ApplicationId) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [written, end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const open = yield* Effect.fork(sql.withTransaction(
      enqueue(applicationId, 1).pipe(
        Effect.zipRight(Deferred.succeed(written, undefined)),
        Effect.zipRight(Deferred.await(end))
      )
    ))
    yield* Deferred.await(written)
    yield* enqueue(applicationId, 2)
    const first = yield* log({ applicationId, after: 0, limit: 10 })
    yield* Deferred.succeed(end, undefined)
    yield* Fiber.join(open)
    const second = yield* log({ applicationId, after: first.at(-1)?.position ?? 0, limit: 10 })
    return [...first, ...second].map(({ delivery }) => delivery.event.objectId)
  })

it.live("a reader misses no event that is committed after one with a higher row number", () =>
  onPostgres(Effect.gen(function*() {
    const { log } = yield* Delivery.DeliveryStore
    expect(yield* besideAnOpenTransaction(log, yield* subscribed)).toEqual([2, 1])
  })))

it.live("the test detects that a cursor by row numbers would miss it", () =>
  onPostgres(Effect.gen(function*() {
    const { list } = yield* Delivery.DeliveryStore
    const byNumber: Log = ({ after, applicationId, limit }) =>
      Effect.map(
        list({ applicationId: Option.some(applicationId), state: Option.none(), after: Option.none(), limit: 1000 }),
        (all) =>
          all.filter(({ id }) => id > after).reverse().slice(0, limit).map((delivery) => ({
            position: delivery.id,
            delivery
          }))
      )
    expect(yield* besideAnOpenTransaction(byNumber, yield* subscribed)).toEqual([2])
  })))

it.live("the events about one object are in order, for any order of the transactions' begins", () =>
  onPostgres(Effect.gen(function*() {
    const applicationId = yield* subscribed
    const { log } = yield* Delivery.DeliveryStore
    const sql = yield* SqlClient.SqlClient
    const [begun, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    // It has a transaction identifier from the start, and changes the object after the other transaction.
    const early = yield* Effect.fork(sql.withTransaction(
      enqueue(applicationId, 8).pipe(
        Effect.zipRight(Deferred.succeed(begun, undefined)),
        Effect.zipRight(Deferred.await(go)),
        Effect.zipRight(enqueue(applicationId, 7))
      )
    ))
    yield* Deferred.await(begun)
    const [first] = yield* enqueue(applicationId, 7)
    yield* Deferred.succeed(go, undefined)
    yield* Fiber.join(early)
    const entries = yield* log({ applicationId, after: 0, limit: 10 })
    const about7 = entries.filter(({ delivery }) => delivery.event.objectId === 7)
    expect(about7.map(({ delivery }) => delivery.id)).toEqual([first, expect.any(Number)])
  })))

it.live("a read that begins again and again, because other transactions lock rows, ends at the deadline", () =>
  onPostgres(
    Effect.gen(function*() {
      const applicationId = yield* subscribed
      yield* enqueue(applicationId, 1)
      const database = yield* Database.Database
      let rounds = 0
      const log = makeLog({
        ...database,
        query: (statement, parameters) => {
          if (statement.name !== "startlist_log_number" || ++rounds > 5) return database.query(statement, parameters)
          // A round alone is in time. It reports two rows without a position, and has numbered one of them.
          vi.advanceTimersByTime(3000)
          return database.query({ name: "cut", text: "SELECT 2 AS total" }, [])
        }
      })
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
      yield* Effect.addFinalizer(() => Effect.sync(() => vi.useRealTimers()))
      expect(yield* Effect.flip(log({ applicationId, after: 0, limit: 10 }))).toEqual(timedOut())
    }).pipe(Effect.scoped)
  ))

it.live("a cursor that the log has never returned is refused, also after a restore", () =>
  onPostgres(Effect.gen(function*() {
    const applicationId = yield* subscribed
    const { log } = yield* Delivery.DeliveryStore
    yield* enqueue(applicationId, 1)
    const [entry] = yield* log({ applicationId, after: 0, limit: 10 })
    const after = entry?.position ?? 0
    expect(yield* log({ applicationId, after, limit: 10 })).toEqual([])
    const sql = yield* SqlClient.SqlClient
    // A copy of the database from before that page.
    yield* sql`UPDATE startlist_deliveries SET log_position = NULL`
    yield* sql`ALTER SEQUENCE startlist_log_positions RESTART`
    expect((yield* Effect.flip(log({ applicationId, after, limit: 10 })))._tag).toBe("@startlist/core/UnknownPosition")
  })))
