import { describe, expect, it } from "@effect/vitest"
import {
  type Application,
  Applications,
  Audit,
  Callbacks,
  Delivery,
  DeliveryQueue,
  Event,
  Grant,
  Memory,
  Policy,
  Registration,
  type Services,
  Store,
  Subscription,
  Worker
} from "@startlist/core"
import { Faults, ScriptedCallbacks, TestSecrets, TestUsers } from "@startlist/testing"
import {
  Array as Arr,
  Context,
  DateTime,
  Duration,
  Effect,
  Fiber,
  Layer,
  Logger,
  Option,
  Schema,
  TestClock
} from "effect"
import { makeClient, makeUser } from "./support/fixture.ts"

const { Behaviour } = ScriptedCallbacks

const policy: Policy.Policy.Service = { ...Policy.documented, deliveryJitter: 0 }

const layerWith = (stores: Layer.Layer<Services.Stores> = Memory.layer) =>
  Applications.layer.pipe(
    Layer.provideMerge(ScriptedCallbacks.layer),
    Layer.provideMerge(Layer.merge(Audit.none, TestSecrets.layer("worker"))),
    Layer.provideMerge(TestUsers.layer),
    Layer.provideMerge(stores)
  )

/** A subscription with a receiver of its own. */
const subscribe = (name: string) =>
  Effect.gen(function*() {
    const subscriptions = yield* Subscription.SubscriptionStore
    const { application } = yield* makeClient()
    const now = yield* DateTime.now
    const callbackUrl = `https://${name}.example.test/hook`
    const subscription = yield* subscriptions.insert({
      applicationId: application.id,
      callbackUrl,
      createdAt: now,
      updatedAt: now
    })
    return { applicationId: application.id, callbackUrl, subscription }
  })

let events = 0

/** Saves events about these objects for one application together, in this order. */
const queue = (applicationId: Application.ApplicationId, objects: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const grants = yield* Grant.GrantStore
    const user = yield* makeUser()
    const now = yield* DateTime.now
    const outgoing = objects.map((objectId) => ({
      event: Event.Event.make({
        id: Event.EventId.make(`evt_${++events}`),
        aspectType: "updated",
        objectType: "registration",
        objectId,
        updates: Registration.emptyUpdates,
        time: now,
        sequence: 100 + events,
        trace: Option.some(`trace ${events}`)
      }),
      audience: Event.Audience.Application({ applicationId })
    }))
    const grant = Grant.Grant.make({
      applicationId,
      userId: user.id,
      version: 1,
      status: "active",
      role: user.role,
      scope: [],
      epoch: 1,
      applicationEpoch: 0,
      generation: 0,
      lineStart: 1,
      grantedAt: now,
      refresh: Option.none(),
      access: [],
      codes: []
    })
    yield* grants.save({ grant, outgoing })
  })

const range = (length: number) => Array.from({ length }, (_, index) => index + 1)

const deliveries = Effect.flatMap(Delivery.DeliveryStore, (store) =>
  Effect.map(
    store.list({ applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 1000 }),
    (found) => [...found].reverse()
  ))

const states = Effect.map(deliveries, (found) => found.map(({ state }) => state))

const received = (callbackUrl: string) =>
  Effect.flatMap(
    ScriptedCallbacks.ScriptedCallbacks,
    (callbacks) => Effect.map(callbacks.received, (all) => all.filter((one) => one.callbackUrl === callbackUrl))
  )

const script = (callbackUrl: string, ...behaviours: ReadonlyArray<ScriptedCallbacks.Behaviour>) =>
  Effect.flatMap(ScriptedCallbacks.ScriptedCallbacks, ({ next }) => next(callbackUrl, behaviours))

const habit = (callbackUrl: string, behaviour: ScriptedCallbacks.Behaviour) =>
  Effect.flatMap(ScriptedCallbacks.ScriptedCallbacks, ({ always }) => always(callbackUrl, behaviour))

/** Starts a worker, as a fiber that outlives the test's step. */
const start = (changes: Partial<Policy.Policy.Service> = {}) =>
  Effect.tap(
    Effect.forkDaemon(Effect.provideService(Worker.run, Policy.Policy, { ...policy, ...changes })),
    () => TestClock.adjust(Duration.zero)
  )

const seconds = (count: number) => TestClock.adjust(Duration.seconds(count))

describe("a delivery", () => {
  it.effect("is made as soon as its event is saved, signed, and not again", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl, subscription } = yield* subscribe("good")
      yield* start()
      yield* queue(applicationId, [7])
      yield* TestClock.adjust(Duration.zero)
      expect(yield* states).toStrictEqual(["delivered"])
      yield* seconds(200)
      const [delivery] = yield* deliveries
      const requests = yield* received(callbackUrl)
      expect(requests).toHaveLength(1)
      expect(requests[0]).toMatchObject({ id: delivery?.event.id, signatures: 1 })
      expect(requests[0]?.body).toBe(delivery && Event.body(delivery.event, subscription.id))
    }).pipe(Effect.provide(layerWith())))

  it.effect("is signed with each live secret of the application, until the promised end of each", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("rotated")
      const { rotateSigningSecret } = yield* Applications.Applications
      for (const overlap of [10, 20, 30]) {
        yield* rotateSigningSecret(applicationId, { overlap: Duration.seconds(overlap) })
      }
      yield* start()
      for (const objectId of [1, 2, 3, 4]) {
        yield* queue(applicationId, [objectId])
        yield* seconds(10)
      }
      expect((yield* received(callbackUrl)).map(({ signatures }) => signatures)).toStrictEqual([4, 3, 2, 1])
    }).pipe(Effect.provide(layerWith())))

  it.effect("that fails is made three times, 5 s and 60 s apart, with the same bytes, webhook-id and sequence, and no more", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("broken")
      yield* habit(callbackUrl, Behaviour.Reject({ status: 500 }))
      yield* queue(applicationId, [7])
      const began = yield* TestClock.currentTimeMillis
      yield* start()
      yield* seconds(200)
      const requests = yield* received(callbackUrl)
      expect(requests.map(({ at }) => (at - began) / 1000)).toStrictEqual([0, 5, 65])
      expect(new Set(requests.map(({ body, id }) => `${id} ${body}`)).size).toBe(1)
      const [delivery] = yield* deliveries
      expect(new Set(requests.map(({ sequence }) => sequence))).toStrictEqual(new Set([delivery?.event.sequence]))
      expect(requests.map(({ timestamp }) => timestamp - began / 1000)).toStrictEqual([0, 5, 65])
      expect(yield* states).toStrictEqual(["exhausted"])
    }).pipe(Effect.provide(layerWith())))

  it.effect("fails after 2 s", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("slow")
      yield* script(
        callbackUrl,
        Behaviour.Hang(),
        Behaviour.Comply({ afterMs: 2001 }),
        Behaviour.Comply({ afterMs: 1999 })
      )
      yield* queue(applicationId, [7])
      yield* start()
      yield* seconds(120)
      const [delivery] = yield* deliveries
      expect(delivery?.attempts.map(({ durationMs, outcome }) => [outcome, durationMs])).toStrictEqual([
        ["timeout", 2000],
        ["timeout", 2000],
        ["delivered", 1999]
      ])
    }).pipe(Effect.provide(layerWith())))

  it.effect("waits for the earlier one of its object, but not for other objects", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("ordered")
      yield* script(callbackUrl, Behaviour.Reject({ status: 500 }))
      yield* queue(applicationId, [1, 1, 2, 1])
      yield* start()
      yield* seconds(0)
      expect(yield* states).toStrictEqual(["pending", "pending", "delivered", "pending"])
      yield* seconds(200)
      const done = yield* deliveries
      const ofOne = done.filter(({ event }) => event.objectId === 1)
      expect(ofOne.map(({ state }) => state)).toStrictEqual(["delivered", "delivered", "delivered"])
      const times = ofOne.map(({ endedAt }) => Option.getOrThrow(endedAt).epochMillis)
      expect(times).toStrictEqual([...times].sort((a, b) => a - b))
      const bodies = (yield* received(callbackUrl)).map(({ id }) => id)
      expect(bodies.filter((id) => ofOne.some(({ event }) => event.id === id))).toStrictEqual([
        ofOne[0]?.event.id,
        ofOne[0]?.event.id,
        ofOne[1]?.event.id,
        ofOne[2]?.event.id
      ])
    }).pipe(Effect.provide(layerWith())))

  it.effect("is not started any more once its subscription was removed", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl, subscription } = yield* subscribe("removed")
      const subscriptions = yield* Subscription.SubscriptionStore
      yield* habit(callbackUrl, Behaviour.Hang())
      yield* queue(applicationId, [1, 1, 2])
      yield* start()
      yield* seconds(1)
      yield* subscriptions.remove(subscription.id, yield* DateTime.now)
      yield* seconds(200)
      expect(yield* received(callbackUrl)).toHaveLength(2)
      expect(yield* states).toStrictEqual(["cancelled", "cancelled", "cancelled"])
    }).pipe(Effect.provide(layerWith())))
})

describe("a worker", () => {
  it.effect("has at most the policy's number of attempts in flight, in all and to one subscription", () =>
    Effect.gen(function*() {
      const receivers = yield* Effect.forEach(["a", "b", "c"], subscribe)
      for (const { applicationId, callbackUrl } of receivers) {
        yield* habit(callbackUrl, Behaviour.Comply({ afterMs: 1500 }))
        yield* queue(applicationId, range(10))
      }
      yield* start({ deliveryConcurrency: 7, deliveryPerSubscription: 3 })
      yield* seconds(1)
      const counts = yield* Effect.forEach(
        receivers,
        ({ callbackUrl }) => Effect.map(received(callbackUrl), (requests) => requests.length)
      )
      expect(counts.reduce((a, b) => a + b)).toBe(7)
      expect(Math.max(...counts)).toBe(3)
      yield* seconds(30)
      expect(new Set(yield* states)).toStrictEqual(new Set(["delivered"]))
    }).pipe(Effect.provide(layerWith())))

  it.effect("is not delayed by a hanging receiver: others get their events immediately", () =>
    Effect.gen(function*() {
      const [hanging, good] = [yield* subscribe("hanging"), yield* subscribe("good")]
      yield* habit(hanging.callbackUrl, Behaviour.Hang())
      yield* queue(hanging.applicationId, range(50))
      yield* queue(good.applicationId, range(50))
      yield* start({ deliveryConcurrency: 20, deliveryPerSubscription: 10 })
      yield* seconds(1)
      expect(yield* received(good.callbackUrl)).toHaveLength(50)
    }).pipe(Effect.provide(layerWith())))

  it.effect("makes one attempt at a time to a receiver that failed recently, until it succeeds", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("suspect")
      yield* habit(callbackUrl, Behaviour.Hang())
      yield* queue(applicationId, range(40))
      yield* start({ deliveryPerSubscription: 8 })
      yield* seconds(1)
      expect(yield* received(callbackUrl)).toHaveLength(8)
      yield* seconds(2)
      expect(yield* received(callbackUrl), "one after the eight").toHaveLength(9)
      yield* seconds(2)
      expect(yield* received(callbackUrl), "and one after that").toHaveLength(10)
      yield* habit(callbackUrl, Behaviour.Comply({}))
      yield* seconds(6)
      expect((yield* received(callbackUrl)).length, "no suspect any more").toBeGreaterThanOrEqual(40)
    }).pipe(Effect.provide(layerWith())))

  it.effect("gives all receivers that failed recently at most half of its slots together", () =>
    Effect.gen(function*() {
      const hanging = yield* Effect.forEach(range(10), (index) => subscribe(`hanging${index}`))
      for (const { applicationId, callbackUrl } of hanging) {
        yield* habit(callbackUrl, Behaviour.Hang())
        yield* queue(applicationId, range(20))
      }
      const good = yield* subscribe("good")
      yield* start({ deliveryConcurrency: 8, deliveryPerSubscription: 1 })
      yield* seconds(5)
      yield* queue(good.applicationId, range(40))
      yield* seconds(1)
      expect((yield* received(good.callbackUrl)).length).toBe(40)
    }).pipe(Effect.provide(layerWith())))

  it.effect("that is interrupted claims no more, finishes and records what is in flight, and ends", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("slow")
      yield* habit(callbackUrl, Behaviour.Comply({ afterMs: 1500 }))
      yield* queue(applicationId, range(6))
      const worker = yield* start({ deliveryConcurrency: 4 })
      yield* seconds(1)
      const stopping = yield* Effect.fork(Fiber.interrupt(worker))
      yield* TestClock.adjust("499 millis")
      expect(yield* Fiber.poll(stopping), "still finishing").toStrictEqual(Option.none())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(stopping)
      const finished = yield* states
      expect(finished.filter((state) => state === "delivered")).toHaveLength(4)
      yield* seconds(60)
      expect(yield* received(callbackUrl)).toHaveLength(4)
    }).pipe(Effect.provide(layerWith())))

  it.effect("that was lost leaves its work to another once the lease of 15 s has ended", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("good")
      const store = yield* DeliveryQueue.DeliveryQueue
      yield* queue(applicationId, [1])
      const now = yield* DateTime.now
      // A worker that claims and then dies.
      yield* store.claim({
        now,
        leaseEnds: DateTime.addDuration(now, policy.deliveryLease),
        token: "lost",
        limit: 10,
        perSubscription: 10,
        allowances: new Map()
      })
      yield* start()
      yield* seconds(14)
      expect(yield* received(callbackUrl)).toHaveLength(0)
      yield* seconds(2)
      expect(yield* states).toStrictEqual(["delivered"])
    }).pipe(Effect.provide(layerWith())))

  it.effect("whose clock was set back by an hour delivers immediately what was queued before, in order", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("good")
      yield* TestClock.adjust("10 hours")
      yield* queue(applicationId, [1, 1, 2])
      yield* TestClock.setTime(9 * 3_600_000)
      yield* start()
      yield* seconds(2)
      expect(yield* states).toStrictEqual(["delivered", "delivered", "delivered"])
      expect(yield* received(callbackUrl)).toHaveLength(3)
    }).pipe(Effect.provide(layerWith())))

  it.effect("shares the work with others: several deliver everything once", () =>
    Effect.gen(function*() {
      const receivers = yield* Effect.forEach(["a", "b"], subscribe)
      for (const { applicationId } of receivers) yield* queue(applicationId, range(50))
      yield* start({ deliveryConcurrency: 5 })
      yield* start({ deliveryConcurrency: 5 })
      yield* start({ deliveryConcurrency: 5 })
      yield* seconds(10)
      for (const { callbackUrl } of receivers) {
        const ids = (yield* received(callbackUrl)).map(({ id }) => id)
        expect(ids).toHaveLength(50)
        expect(new Set(ids).size).toBe(50)
      }
    }).pipe(Effect.provide(layerWith())))

  it.effect("survives a dispatcher that breaks, immediately or later: the attempt counts as failed", () =>
    Effect.gen(function*() {
      const { applicationId } = yield* subscribe("breaking")
      yield* queue(applicationId, range(3))
      const bugs: ReadonlyArray<() => Effect.Effect<never>> = [
        () => Effect.die("bug"),
        () => Effect.delay(Effect.die("bug"), "1 second"),
        () => {
          throw new Error("bug")
        }
      ]
      let calls = 0
      const deliver = () => bugs[calls++ % bugs.length]?.() ?? Effect.never
      const worker = yield* Effect.forkDaemon(
        Worker.run.pipe(
          Effect.provideService(Policy.Policy, policy),
          Effect.provideService(Callbacks.Callbacks, {
            problem: () => Option.none(),
            validate: () => Effect.never,
            deliver
          })
        )
      )
      yield* seconds(200)
      const attempts = (yield* deliveries).map(({ attempts, state }) => [state, attempts.length])
      expect(attempts).toStrictEqual([["exhausted", 3], ["exhausted", 3], ["exhausted", 3]])
      yield* Fiber.interrupt(worker)
    }).pipe(Effect.provide(layerWith())))
})

/** Callbacks that answer nothing, of which `deliver` is given, and perhaps `begin`. */
const delivering = (
  deliver: Callbacks.Callbacks.Service["deliver"],
  more: Pick<Callbacks.Callbacks.Service, "begin"> = {}
) =>
  Effect.provideService(Callbacks.Callbacks, {
    problem: () => Option.none(),
    validate: () => Effect.never,
    deliver,
    ...more
  })

/** Callbacks that answer nothing but by `begin`. */
const beginning = (begin: Callbacks.Begin<Callbacks.Post>) =>
  delivering(() => Effect.dieMessage("begin comes first"), { begin })

describe("a dispatcher that begins requests without a fiber", () => {
  /** Works with this instead of the scripted callbacks. */
  const startWith = (begin: Callbacks.Begin<Callbacks.Post>) =>
    Effect.forkDaemon(Worker.run.pipe(Effect.provideService(Policy.Policy, policy), beginning(begin)))
  const answered = Callbacks.Answer.Answered({
    afterMs: 0,
    status: 200,
    contentType: "",
    body: "",
    retryAfter: Option.none()
  })

  it.effect("reports them, immediately or later", () =>
    Effect.gen(function*() {
      const { applicationId } = yield* subscribe("good")
      yield* queue(applicationId, range(2))
      const later: Array<() => void> = []
      yield* startWith(({ id }, done) => {
        if (later.length === 0) later.push(() => done(answered))
        else done(answered)
        return () => expect.unreachable(`${id} was answered`)
      })
      yield* seconds(1)
      expect(yield* states).toStrictEqual(["pending", "delivered"])
      for (const answer of later) answer()
      yield* seconds(1)
      expect(yield* states).toStrictEqual(["delivered", "delivered"])
    }).pipe(Effect.provide(layerWith())))

  it.effect("gets the trace of the event", () =>
    Effect.gen(function*() {
      const { applicationId } = yield* subscribe("traced")
      yield* queue(applicationId, range(2))
      const traces: Array<unknown> = []
      yield* startWith(({ trace }, done) => {
        traces.push(trace)
        done(answered)
        return () => {}
      })
      yield* seconds(1)
      expect(traces).toStrictEqual((yield* deliveries).map(({ event }) => event.trace))
      expect(traces.length).toBe(2)
    }).pipe(Effect.provide(layerWith())))

  it.effect("cancels them at their deadline, and ignores later answers", () =>
    Effect.gen(function*() {
      const { applicationId } = yield* subscribe("slow")
      yield* queue(applicationId, range(1))
      const given: Array<(answer: Callbacks.Answer) => void> = []
      let givenUp = 0
      yield* startWith((_, done) => {
        given.push(done)
        return () => givenUp++
      })
      yield* TestClock.adjust("1999 millis")
      expect(givenUp).toBe(0)
      yield* TestClock.adjust("1 millis")
      expect(givenUp).toBe(1)
      given[0]?.(answered)
      yield* seconds(1)
      expect((yield* deliveries).map(({ attempts, state }) => [state, attempts.map(({ outcome }) => outcome)]))
        .toStrictEqual([["pending", ["timeout"]]])
      yield* seconds(200)
      expect([given.length, givenUp]).toStrictEqual([3, 3])
      expect(yield* states).toStrictEqual(["exhausted"])
    }).pipe(Effect.provide(layerWith())))

  it.effect("and throws when they begin: the attempt counts as failed", () =>
    Effect.gen(function*() {
      const { applicationId } = yield* subscribe("breaking")
      yield* queue(applicationId, range(1))
      yield* startWith(() => {
        throw new Error("bug")
      })
      yield* seconds(200)
      expect((yield* deliveries).map(({ attempts, state }) => [state, attempts.map(({ outcome }) => outcome)]))
        .toStrictEqual([["exhausted", ["unreachable", "unreachable", "unreachable"]]])
    }).pipe(Effect.provide(layerWith())))
})

/** The stores in memory, of which one operation fails as long as `isFailing`. */
const failing = (operation: Faults.StoreOperation, isFailing: (input: ReadonlyArray<unknown>) => boolean) =>
  Faults.intercepting((name, effect, input) =>
    Effect.suspend(() =>
      name === operation && isFailing(input) ? Effect.fail(new Store.StoreError({ cause: "down" })) : effect
    )
  ).pipe(Layer.provide(Memory.layer))

describe("a worker whose store knows when the next delivery is due", () => {
  /** The stores in memory, and the number of claims. */
  const counting = () => {
    const claims = { count: 0 }
    const stores = Layer.map(Memory.layer, (context) => {
      const queue = Context.get(context, DeliveryQueue.DeliveryQueue)
      const claim: typeof queue.claim = (request) => {
        claims.count++
        return queue.claim(request)
      }
      return Context.add(context, DeliveryQueue.DeliveryQueue, { ...queue, claim })
    })
    return { claims, stores }
  }

  it.effect("sleeps: a day with three attempts takes at most a dozen claims, each attempt in its millisecond", () => {
    const { claims, stores } = counting()
    return Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("broken")
      yield* habit(callbackUrl, Behaviour.Reject({ status: 500 }))
      yield* start({ deliveryDelays: [Duration.millis(5432), Duration.hours(3)] })
      yield* TestClock.adjust("8 hours")
      yield* queue(applicationId, [7])
      yield* TestClock.adjust("16 hours")
      expect((yield* received(callbackUrl)).map(({ at }) => at - 8 * 3_600_000)).toStrictEqual([0, 5432, 10_805_432])
      expect(claims.count).toBeLessThanOrEqual(12)
      yield* TestClock.adjust("30 days")
      expect(claims.count).toBeLessThanOrEqual(12 + 30)
    }).pipe(Effect.provide(layerWith(stores)))
  })

  it.effect("is woken by every change that frees a delivery", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl, subscription } = yield* subscribe("held")
      const store = yield* DeliveryQueue.DeliveryQueue
      const subscriptions = yield* Subscription.SubscriptionStore
      const applications = yield* Applications.Applications
      const pause = (paused: boolean, version: number) => subscriptions.save({ ...subscription, paused, version })
      yield* start()
      /** A change that holds new events, and the change that frees them. */
      const changes = [
        [pause(true, 2), pause(false, 3)],
        [applications.suspend(applicationId), applications.restore(applicationId)],
        [Effect.void, Effect.flatMap(deliveries, ([first]) => first ? store.again(first, first.dueAt) : Effect.void)]
      ] as const
      for (const [hold, free] of changes) {
        yield* hold
        yield* queue(applicationId, [1])
        yield* TestClock.adjust("1 millis")
        yield* free
        yield* TestClock.adjust(Duration.zero)
        expect(new Set(yield* states)).toStrictEqual(new Set(["delivered"]))
      }
      expect(yield* received(callbackUrl)).toHaveLength(4)
    }).pipe(Effect.provide(layerWith())))

  it.effect("gets the work of another that ends, at the latest when the lease ends", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("slow")
      yield* script(callbackUrl, Behaviour.Hang())
      const first = yield* start()
      yield* queue(applicationId, [1])
      yield* seconds(1)
      yield* start()
      yield* Effect.fork(Fiber.interrupt(first))
      yield* seconds(14)
      expect((yield* received(callbackUrl)).map(({ at }) => at)).toStrictEqual([0, 15_000])
    }).pipe(Effect.provide(layerWith())))
})

describe("a delivery without an outcome", () => {
  /** Works until the lease of what it claimed is over, and is then gone like a process that was killed. */
  const die = Effect.gen(function*() {
    const store = yield* DeliveryQueue.DeliveryQueue
    const now = yield* DateTime.now
    yield* store.claim({
      now,
      leaseEnds: DateTime.addDuration(now, policy.deliveryLease),
      token: `lost at ${now.epochMillis}`,
      limit: 10,
      perSubscription: 10,
      allowances: new Map()
    })
    yield* seconds(15)
  })

  it.effect("is attempted after five claims without an outcome", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("unlucky")
      yield* queue(applicationId, [7])
      yield* Effect.repeatN(die, 3)
      yield* start()
      yield* seconds(1)
      expect(yield* states).toStrictEqual(["delivered"])
      expect(yield* received(callbackUrl)).toHaveLength(1)
    }).pipe(Effect.provide(layerWith())))

  it.effect("is set aside at the sixth claim without an attempt, and the next event of its object goes on", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("lethal")
      yield* queue(applicationId, [7, 7, 8])
      yield* Effect.repeatN(die, 4)
      yield* queue(applicationId, [9])
      yield* start()
      yield* seconds(10)
      expect(yield* states).toStrictEqual(["set_aside", "delivered", "set_aside", "delivered"])
      expect(yield* received(callbackUrl)).toHaveLength(2)
      const [lethal] = yield* deliveries
      expect(lethal?.attempts).toStrictEqual([])
      expect(Option.isSome(lethal?.endedAt ?? Option.none())).toBe(true)
    }).pipe(Effect.provide(layerWith())))

  it.effect("is attempted alone after half of the claims, and the others that wait for it do not count", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("unlucky")
      yield* habit(callbackUrl, Behaviour.Comply({ afterMs: 500 }))
      yield* queue(applicationId, range(7))
      yield* Effect.repeatN(die, 1)
      yield* start()
      yield* seconds(20)
      expect(new Set(yield* states)).toStrictEqual(new Set(["delivered"]))
      const times = (yield* received(callbackUrl)).map(({ at }) => at)
      const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0))
      expect(times).toHaveLength(7)
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(500)
    }).pipe(Effect.provide(layerWith())))

  it.effect("is attempted when no other one is claimed, so that a death of the process counts for no other", () =>
    Effect.gen(function*() {
      const [lethal, good] = [yield* subscribe("lethal"), yield* subscribe("good")]
      yield* habit(lethal.callbackUrl, Behaviour.Hang())
      yield* queue(lethal.applicationId, [7])
      yield* queue(good.applicationId, [8])
      yield* Effect.repeatN(die, 1)
      const store = yield* DeliveryQueue.DeliveryQueue
      const sizes: Array<number> = []
      const claim: DeliveryQueue.DeliveryQueue.Service["claim"] = (request) =>
        Effect.tap(store.claim(request), ({ length }) => Effect.sync(() => sizes.push(length)))
      const released: DeliveryQueue.DeliveryQueue.Service["release"] = (claims, dueAt) =>
        Effect.zipRight(Effect.sync(() => sizes.push(-claims.length)), store.release(claims, dueAt))
      yield* Effect.provideService(start(), DeliveryQueue.DeliveryQueue, { ...store, claim, release: released })
      yield* seconds(1)
      expect(yield* received(lethal.callbackUrl)).toHaveLength(1)
      expect(sizes.slice(0, 3)).toStrictEqual([2, -2, 1])
    }).pipe(Effect.provide(layerWith())))

  it.effect("starts a new count after each outcome", () =>
    Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("failing")
      yield* habit(callbackUrl, Behaviour.Reject({ status: 500 }))
      yield* queue(applicationId, [7])
      for (let attempt = 0; attempt < 3; attempt++) {
        yield* Effect.repeatN(die, 3)
        const worker = yield* start()
        yield* seconds(1)
        yield* Fiber.interrupt(worker)
        yield* seconds(60)
      }
      expect((yield* deliveries).map(({ attempts, state }) => [state, attempts.length])).toStrictEqual([
        ["exhausted", 3]
      ])
    }).pipe(Effect.provide(layerWith())))

  it.effect("is not set aside while the store records no outcome of anything", () => {
    let isDown = true
    return Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("good")
      yield* queue(applicationId, [1])
      yield* start()
      yield* seconds(200)
      isDown = false
      yield* seconds(16)
      expect((yield* received(callbackUrl)).length).toBeGreaterThan(6)
      expect(yield* states).toStrictEqual(["delivered"])
    }).pipe(Effect.provide(layerWith(failing("DeliveryQueue.settle", () => isDown))))
  })
})

describe("a dispatcher with a bug", () => {
  const garbage: ReadonlyArray<unknown> = [undefined, null, {}, { _tag: "Answered" }, { _tag: "Delivered" }, 200]

  let calls = 0
  const ways = {
    // @ts-expect-error: an implementation that is not checked by its types
    deliver: delivering(() => Effect.succeed<Callbacks.Answer>(garbage[calls++ % garbage.length])),
    // @ts-expect-error: the same
    begin: beginning((_, done) => void done(garbage[calls++ % garbage.length]))
  }
  for (const [name, answering] of Object.entries(ways)) {
    it.effect(`that answers something else than an answer to ${name} has failed, and the worker goes on`, () =>
      Effect.gen(function*() {
        const { applicationId } = yield* subscribe("odd")
        yield* queue(applicationId, range(garbage.length))
        yield* Effect.forkDaemon(Worker.run.pipe(Effect.provideService(Policy.Policy, policy), answering))
        yield* seconds(300)
        expect((yield* deliveries).map(({ attempts, state }) => [state, attempts.map(({ outcome }) => outcome)]))
          .toStrictEqual(garbage.map(() => ["exhausted", ["unreachable", "unreachable", "unreachable"]]))
      }).pipe(Effect.provide(layerWith())))
  }

  it.effect("that answers twice, or answers and then throws, has answered once", () =>
    Effect.gen(function*() {
      const { applicationId } = yield* subscribe("twice")
      yield* queue(applicationId, range(2))
      yield* Effect.forkDaemon(
        Worker.run.pipe(
          Effect.provideService(Policy.Policy, policy),
          beginning((_, done) => {
            const refused = Callbacks.Answer.Unreachable({ detail: "refused" })
            done(refused)
            done(refused)
            throw new Error("bug")
          })
        )
      )
      yield* seconds(1)
      expect((yield* deliveries).map(({ attempts }) => attempts.map(({ detail }) => detail)))
        .toStrictEqual([["refused"], ["refused"]])
    }).pipe(Effect.provide(layerWith())))
})

describe("a store that fails", () => {
  it.effect("with a bug, while claiming or recording, does not end the worker", () => {
    let bugs = 4
    const broken = Faults.intercepting((name, effect) =>
      Effect.suspend(() =>
        /\.(?:claim|settle)$/.test(name) && bugs-- > 0 ? Effect.dieMessage("a bug in the store") : effect
      )
    ).pipe(Layer.provide(Memory.layer))
    return Effect.gen(function*() {
      const { applicationId } = yield* subscribe("good")
      yield* queue(applicationId, [1])
      yield* start()
      yield* seconds(60)
      expect(yield* states).toStrictEqual(["delivered"])
    }).pipe(Effect.provide(layerWith(broken)))
  })

  it.effect("while claiming only delays: the worker retries. An outage is logged once, also of a store that comes and goes", () => {
    let claims = 0
    const logged: Array<unknown> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => logged.push(...Arr.ensure(message)))
    )
    return Effect.gen(function*() {
      const { applicationId } = yield* subscribe("good")
      yield* queue(applicationId, range(3))
      yield* start()
      yield* seconds(10)
      expect(yield* states).toStrictEqual(["delivered", "delivered", "delivered"])
      yield* seconds(30)
      expect(logged).toStrictEqual(["deliveries wait for the store", "deliveries continue: the store answers again"])
    }).pipe(Effect.provide([layerWith(failing("DeliveryQueue.claim", () => claims++ < 9 && claims % 2 === 1)), logger]))
  })

  it.effect("with one row of a batch gets the rows one by one, so that a bad row affects only itself", () => {
    const isBad = (one: unknown) =>
      typeof one === "object" && one !== null && "delivery" in one && Schema.is(Delivery.Delivery)(one.delivery) &&
      one.delivery.event.objectId === 2
    const bad = (input: ReadonlyArray<unknown>) => Array.isArray(input[0]) && input[0].some(isBad)
    return Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("good")
      yield* habit(callbackUrl, Behaviour.Comply({ afterMs: 100 }))
      yield* queue(applicationId, range(5))
      yield* start()
      yield* seconds(1)
      expect(yield* states).toStrictEqual(["delivered", "pending", "delivered", "delivered", "delivered"])
    }).pipe(Effect.provide(layerWith(failing("DeliveryQueue.settle", bad))))
  })

  it.effect("while settling is retried, and the attempt is recorded once it answers", () => {
    let isDown = true
    return Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("good")
      yield* queue(applicationId, [1])
      yield* start()
      yield* seconds(5)
      expect(yield* states).toStrictEqual(["pending"])
      isDown = false
      yield* seconds(1)
      expect(yield* states).toStrictEqual(["delivered"])
      expect(yield* received(callbackUrl)).toHaveLength(1)
    }).pipe(Effect.provide(layerWith(failing("DeliveryQueue.settle", () => isDown))))
  })

  it.effect("for longer than the lease makes the attempt repeat: never a loss, and one record", () => {
    let isDown = true
    return Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("good")
      yield* queue(applicationId, [1])
      yield* start()
      yield* seconds(16)
      isDown = false
      yield* seconds(16)
      const requests = yield* received(callbackUrl)
      expect(requests.length).toBeGreaterThan(1)
      expect(new Set(requests.map(({ body, id }) => id + body)).size).toBe(1)
      expect((yield* deliveries).map(({ attempts, state }) => [state, attempts.length])).toStrictEqual([[
        "delivered",
        1
      ]])
    }).pipe(Effect.provide(layerWith(failing("DeliveryQueue.settle", () => isDown))))
  })

  it.effect("that answers a claim when its lease is nearly over starts no attempt", () => {
    let isSlow = true
    const slow = Faults.intercepting((name, effect) =>
      Effect.suspend(() => {
        if (name !== "DeliveryQueue.claim" || !isSlow) return effect
        isSlow = false
        return Effect.delay(effect, "1 millis").pipe(Effect.tap(Effect.sleep("14 seconds")))
      })
    ).pipe(Layer.provide(Memory.layer))
    return Effect.gen(function*() {
      const { applicationId, callbackUrl } = yield* subscribe("good")
      yield* queue(applicationId, [1])
      yield* start()
      yield* seconds(14.5)
      expect(yield* received(callbackUrl)).toHaveLength(0)
      yield* seconds(5)
      expect(yield* received(callbackUrl)).toHaveLength(1)
      expect(yield* states).toStrictEqual(["delivered"])
    }).pipe(Effect.provide(layerWith(slow)))
  })
})
