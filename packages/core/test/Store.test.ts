import { describe, expect, it } from "@effect/vitest"
import {
  Callbacks,
  Deliveries,
  Delivery,
  DeliveryQueue,
  Event,
  Grant,
  Retention,
  Store,
  Subscription
} from "@startlist/core"
import { DateTime, Duration, Effect, Fiber, Option, Redacted, Schema, TestClock } from "effect"
import {
  authenticate,
  consent,
  exchange,
  layer,
  makeClient,
  makeUser,
  refresh,
  refusal,
  tokensOf
} from "./support/fixture.ts"

describe("a decision that meets a conflict", () => {
  it.effect("is repeated at most 100 times, then the store counts as unavailable", () =>
    Effect.gen(function*() {
      let attempts = 0
      const always = Effect.suspend(() => {
        attempts++
        return new Store.Conflict()
      })
      expect(yield* Effect.flip(Store.untilSaved(always))).toMatchObject({ _tag: "@startlist/core/StoreError" })
      expect(attempts).toBe(101)
    }))

  it.effect("is not repeated for any other reason", () =>
    Effect.gen(function*() {
      let attempts = 0
      const fails = Effect.suspend(() => {
        attempts++
        return new Store.StoreError({ cause: "down" })
      })
      expect(yield* Effect.flip(Store.untilSaved(fails))).toMatchObject({ _tag: "@startlist/core/StoreError" })
      expect(attempts).toBe(1)
    }))
})

it("text that some store cannot store is refused: NUL and halves of surrogate pairs", () => {
  const isText = Schema.is(Store.Text)
  for (const good of ["", "é 👩‍👩‍👧 \n\t\u0001", "\ufffd\uffff"]) expect(isText(good)).toBe(true)
  for (const bad of ["\0", "a\0b", "\ud83d", "\udc69", "\udc69\ud83d"]) expect(isText(bad)).toBe(false)
})

it.effect("a request to a callback ends at its deadline, even if it cannot be interrupted", () =>
  Effect.gen(function*() {
    const deaf = Effect.uninterruptible(Effect.never)
    const ending = yield* Effect.fork(Callbacks.within(Duration.seconds(2))(deaf))
    yield* TestClock.adjust("2 seconds")
    const answer = yield* Fiber.poll(ending)
    expect(Option.isSome(answer)).toBe(true)
    expect(yield* Fiber.join(ending)).toMatchObject({ _tag: "TimedOut" })
  }))

it.effect("a request to a callback ends at its deadline, even if its caller cannot be interrupted", () =>
  Effect.gen(function*() {
    const calling = Effect.uninterruptible(Callbacks.within(Duration.seconds(2))(Effect.never))
    const ending = yield* Effect.forkDaemon(calling)
    yield* TestClock.adjust("2 seconds")
    expect(Option.isSome(yield* Fiber.poll(ending))).toBe(true)
    expect(yield* Fiber.join(ending)).toMatchObject({ _tag: "TimedOut" })
  }))

describe("a grant", () => {
  it.effect("has room for twenty live access tokens and twenty codes: the oldest go first", () =>
    Effect.gen(function*() {
      const grants = yield* Grant.GrantStore
      const client = yield* makeClient()
      const user = yield* makeUser()
      const codes = yield* Effect.replicateEffect(consent(client, user), 21)
      const [oldest, ...others] = codes
      if (oldest === undefined) return yield* Effect.dieMessage("no code")
      expect(yield* refusal(exchange(client, oldest))).toBe("unknown")
      const all = [yield* exchange(client, others[0] ?? oldest)]
      for (let n = 0; n < 20; n++) all.push(yield* refresh(client, all[n]?.refreshToken ?? Redacted.make("")))
      const outcomes = yield* Effect.forEach(all, ({ accessToken }) => authenticate(accessToken))
      expect(outcomes.map((outcome) => outcome === "@startlist/core/InvalidToken")).toEqual([
        true,
        ...Array(20).fill(false)
      ])
      const { grant } = Option.getOrThrow(yield* grants.find(client.id, user.id))
      expect([grant.access.length, grant.codes.length]).toEqual([20, 20])
    }).pipe(Effect.provide(layer)))

  it.effect("loses expired tokens and codes with its next save", () =>
    Effect.gen(function*() {
      const grants = yield* Grant.GrantStore
      const client = yield* makeClient()
      const user = yield* makeUser()
      const first = yield* tokensOf(client, user)
      yield* TestClock.adjust("8 hours")
      yield* refresh(client, first.refreshToken)
      const { grant } = Option.getOrThrow(yield* grants.find(client.id, user.id))
      expect([grant.access.length, grant.codes.length]).toEqual([1, 0])
    }).pipe(Effect.provide(layer)))

  it.effect("keeps an expired token behind a live one, since the last tokens are those of the present line", () =>
    Effect.gen(function*() {
      const grants = yield* Grant.GrantStore
      const client = yield* makeClient()
      const user = yield* makeUser()
      yield* tokensOf(client, user)
      const { grant } = Option.getOrThrow(yield* grants.find(client.id, user.id))
      const now = yield* DateTime.now
      const [live] = grant.access
      if (live === undefined) return yield* Effect.dieMessage("no token")
      const expired = { ...live, expiresAt: now }
      const access = [expired, expired, live, expired]
      yield* grants.save({ grant: { ...grant, version: grant.version + 1, access }, outgoing: [] })
      yield* consent(client, user)
      expect(Option.getOrThrow(yield* grants.find(client.id, user.id)).grant.access).toEqual([live, expired])
    }).pipe(Effect.provide(layer)))

  it.effect("is empty after a revocation", () =>
    Effect.gen(function*() {
      const grants = yield* Grant.GrantStore
      const client = yield* makeClient()
      const user = yield* makeUser()
      yield* tokensOf(client, user)
      yield* consent(client, user)
      const { grant } = Option.getOrThrow(yield* grants.find(client.id, user.id))
      expect(Grant.revoke(grant).grant).toMatchObject({ refresh: Option.none(), access: [], codes: [] })
    }).pipe(Effect.provide(layer)))
})

describe("a delivery that has ended", () => {
  const exhausted = Effect.gen(function*() {
    const subscriptions = yield* Subscription.SubscriptionStore
    const store = yield* DeliveryQueue.DeliveryQueue
    const grants = yield* Grant.GrantStore
    const client = yield* makeClient()
    const user = yield* makeUser()
    const now = yield* DateTime.now
    const subscription = yield* subscriptions.insert({
      applicationId: client.id,
      callbackUrl: "https://app.example.test/hook",
      createdAt: now,
      updatedAt: now
    })
    yield* tokensOf(client, user)
    const { grant } = Option.getOrThrow(yield* grants.find(client.id, user.id))
    yield* grants.save(Grant.revokeByUser(grant, { id: Event.EventId.make("evt_1"), time: now, trace: Option.none() }))
    const [claimed] = yield* store.claim({
      now,
      leaseEnds: now,
      token: "claim",
      limit: 1,
      perSubscription: 1,
      allowances: new Map()
    })
    if (claimed === undefined) return yield* Effect.dieMessage("nothing to claim")
    const delivery = Delivery.Delivery.make({ ...claimed.delivery, state: "exhausted", endedAt: Option.some(now) })
    yield* store.settle([{ delivery, token: "claim" }])
    return { delivery, subscription }
  })

  it.effect("is delivered again on demand: a new delivery with the same webhook-id, due immediately", () =>
    Effect.gen(function*() {
      const { redeliver } = yield* Deliveries.Deliveries
      const { delivery } = yield* exhausted
      yield* TestClock.adjust("1 hour")
      const again = yield* redeliver(delivery.id)
      expect(again).toMatchObject({ state: "pending", attempts: [], event: { id: delivery.event.id } })
      expect(again.id).not.toBe(delivery.id)
      expect(again.dueAt.epochMillis).toBe(yield* TestClock.currentTimeMillis)
    }).pipe(Effect.provide(layer)))

  it.effect("is not delivered again once its subscription is gone, nor if it is not known", () =>
    Effect.gen(function*() {
      const { redeliver } = yield* Deliveries.Deliveries
      const { delivery, subscription } = yield* exhausted
      yield* Effect.flatMap(Subscription.SubscriptionStore, ({ remove }) => remove(subscription.id, delivery.dueAt))
      expect(yield* Effect.flip(redeliver(delivery.id))).toMatchObject({ _tag: "@startlist/core/SubscriptionNotFound" })
      const unknown = redeliver(Delivery.DeliveryId.make(4711))
      expect(yield* Effect.flip(unknown)).toMatchObject({ _tag: "@startlist/core/DeliveryNotFound" })
    }).pipe(Effect.provide(layer)))

  it.effect("is not known if it is purged after it was read, before it is delivered again", () =>
    Effect.gen(function*() {
      const queue = yield* DeliveryQueue.DeliveryQueue
      const { purge } = yield* Delivery.DeliveryStore
      const { delivery } = yield* exhausted
      const purging = DeliveryQueue.DeliveryQueue.of({
        ...queue,
        again: (read, now) => Effect.zipRight(purge(now, 1), queue.again(read, now))
      })
      const again = Effect.flatMap(Deliveries.Deliveries, ({ redeliver }) => redeliver(delivery.id)).pipe(
        Effect.provide(Deliveries.layer),
        Effect.provideService(DeliveryQueue.DeliveryQueue, purging)
      )
      expect(yield* Effect.flip(again)).toMatchObject({ _tag: "@startlist/core/DeliveryNotFound" })
    }).pipe(Effect.provide(layer)))

  it.effect("is stored for 30 days", () =>
    Effect.gen(function*() {
      const { find } = yield* Deliveries.Deliveries
      const { delivery } = yield* exhausted
      yield* TestClock.adjust("2591999999 millis")
      expect(yield* Retention.purge).toBe(0)
      yield* find(delivery.id)
      yield* TestClock.adjust("1 millis")
      expect(yield* Retention.purge).toBe(1)
      expect(yield* Effect.flip(find(delivery.id))).toMatchObject({ _tag: "@startlist/core/DeliveryNotFound" })
    }).pipe(Effect.provide(layer)))
})
