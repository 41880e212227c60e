/** Law 12 in one process: two writers, one of them killed again and again, and a reader. `EVENT_LOG_SECONDS=60` lasts a minute. */
import { expect, it } from "@effect/vitest"
import { Application, Delivery, DeliveryQueue, Event, Memory, type Services, Subscription, User } from "@startlist/core"
import { Embedded } from "@startlist/postgres"
import { SqlClient } from "@effect/sql"
import { Clock, Context, DateTime, Effect, Fiber, Layer, Option, Random, Redacted } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const seconds = Number(process.env["EVENT_LOG_SECONDS"] ?? 1)

const embedded = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder }))
).pipe(Layer.provide(fixtures.seal))

const epoch = DateTime.unsafeMake(0)

const subscribed = Effect.gen(function*() {
  const settings = { name: "App", ownerId: User.UserId.make(1), redirectUris: [], requirePkce: false, secrets: [] }
  const applications = yield* Application.ApplicationStore
  const { id } = yield* applications.insert({ ...settings, createdAt: epoch }, Redacted.make("whsec_x"))
  const subscriptions = yield* Subscription.SubscriptionStore
  yield* subscriptions.insert({ applicationId: id, callbackUrl: "https://a.test/", createdAt: epoch, updatedAt: epoch })
  return id
})

/** Joins in a transaction where the stores have any. */
const transaction = Effect.map(Effect.context<never>(), (context) => {
  const sql = Context.getOption(Context.unsafeMake<SqlClient.SqlClient>(context.unsafeMap), SqlClient.SqlClient)
  return <A, E>(effect: Effect.Effect<A, E>) =>
    Option.isSome(sql) ? Effect.orDie(sql.value.withTransaction(effect)) : Effect.orDie(effect)
})

const readBesideWriters = Effect.gen(function*() {
  const applicationId = yield* subscribed
  const queue = yield* DeliveryQueue.DeliveryQueue
  const deliveries = yield* Delivery.DeliveryStore
  const inTransaction = yield* transaction
  const end = (yield* Clock.currentTimeMillis) + seconds * 1000
  let made = 0
  const untilTheEnd = Effect.repeat({
    until: () => Effect.map(Clock.currentTimeMillis, (now) => now >= end && made > 50)
  })
  const write = Effect.suspend(() => {
    const id = Event.EventId.make(`evt_${made}`)
    const event = Event.Event.make({
      id,
      aspectType: "deleted",
      objectType: "athlete",
      objectId: 1 + made++ % 3,
      updates: {},
      time: epoch,
      sequence: 1,
      trace: Option.none()
    })
    return queue.enqueue([{ audience: Event.Audience.Application({ applicationId }), event }])
  })
  const writer = untilTheEnd(Effect.zipLeft(write, Effect.sleep(1)))
  const transactions = untilTheEnd(inTransaction(Effect.all([write, Effect.sleep(3), write, Effect.yieldNow()])))
  const killed = untilTheEnd(Effect.gen(function*() {
    const fiber = yield* Effect.fork(Effect.forever(write))
    yield* Effect.sleep(yield* Random.nextIntBetween(0, 20))
    yield* Fiber.interrupt(fiber)
  }))
  const seen: Array<Delivery.LogEntry> = []
  const read = Effect.map(
    Effect.suspend(() => deliveries.log({ applicationId, after: seen.at(-1)?.position ?? 0, limit: 7 })),
    (page) => seen.push(...page) > 0 && page.length === 0
  )
  const reader = untilTheEnd(Effect.zipLeft(read, Effect.yieldNow()))
  yield* Effect.all([writer, transactions, killed, reader], { concurrency: "unbounded" })
  yield* Effect.repeat(read, { until: (isAtTheEnd) => isAtTheEnd })

  const stored: Array<Delivery.Delivery> = []
  for (let isAtTheEnd = false; !isAtTheEnd;) {
    const page = yield* deliveries.list({
      applicationId: Option.some(applicationId),
      state: Option.none(),
      after: Option.fromNullable(stored.at(-1)?.id),
      limit: 1000
    })
    stored.push(...page)
    isAtTheEnd = page.length === 0
  }
  stored.reverse()
  const idsAbout = (all: ReadonlyArray<Delivery.Delivery>, objectId: number) =>
    all.filter(({ event }) => event.objectId === objectId).map(({ event }) => event.id)
  expect(stored.length).toBeGreaterThan(20)
  expect(seen).toHaveLength(stored.length)
  for (const objectId of [1, 2, 3]) {
    expect(idsAbout(seen.map(({ delivery }) => delivery), objectId)).toEqual(idsAbout(stored, objectId))
  }
})

const stores: ReadonlyArray<readonly [string, Layer.Layer<Services.Stores, unknown>]> = [
  ["in memory", Memory.layer],
  ["on the embedded database", embedded]
]

for (const [name, layer] of stores) {
  it.live(
    `${name}, a reader beside writers misses no event and sees none twice`,
    () => Effect.provide(readBesideWriters, layer),
    30_000 + seconds * 3000
  )
}
