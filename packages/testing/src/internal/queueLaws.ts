/** Laws of the queue: contents of claims and settlements, long queues, wake-ups, and changes during a claim. */
import { first } from "@startlist/core/ApplicationSecret"
import { type Attempt, searchIn, State } from "@startlist/core/Delivery"
import { Audience } from "@startlist/core/Event"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Arbitraries from "../Arbitraries.ts"
import type { LawGroup } from "../Law.ts"
import { holds, same, sorted, tagOf } from "./expecting.ts"
import { at, long, objectsOf } from "./fixture.ts"
import { reader } from "./parallelLaws.ts"
import { inTheMiddle, stepsOf, sweep } from "./rounds.ts"
import { interruptAt } from "./stepping.ts"
import { forEach, queueLaw } from "./storeLaw.ts"

const attempts = FastCheck.array(Arbitraries.attempt, { maxLength: 3 })

const inOrder = (attempts: ReadonlyArray<Attempt>) => attempts.map((one) => JSON.stringify(one)).sort()

export const queueLaws: LawGroup<Stores> = {
  about: "the queue",
  laws: [
    queueLaw("an attempt is recorded with every field", function*(f) {
      const { app } = yield* f.subscribed
      const outcome = FastCheck.record({
        attempts,
        state: FastCheck.constantFrom(...State.literals.filter((state) => state !== "pending")),
        endedAt: Arbitraries.instant.map(Option.some)
      })
      yield* forEach(outcome, 12, function*(fields) {
        yield* f.queue(app, [f.event(1)])
        const retried = { attempts: fields.attempts, dueAt: at(1) }
        for (const claimed of yield* f.claim()) {
          same(yield* f.settle([claimed], retried), [claimed.delivery.id])
          same(yield* f.deliveries.find(claimed.delivery.id), { ...claimed.delivery, ...retried })
        }
        for (const claimed of yield* f.claimAt(1)) {
          same(claimed.delivery.attempts, fields.attempts)
          same(yield* f.settle([claimed], fields), [claimed.delivery.id])
          same(yield* f.deliveries.find(claimed.delivery.id), { ...claimed.delivery, ...fields })
        }
        same((yield* f.listed(app)).filter(({ state }) => state === "pending"), [])
      })
    }),
    queueLaw("a claim has its token, lease and number, and subscription and secrets as they are now", function*(f) {
      const { app, subscription } = yield* f.subscribed
      yield* f.queue(app, [f.event(1)])
      const { secrets: first } = yield* f.signingSecrets(app)
      same((yield* f.claim()).map((one) => [one.subscription, one.signingSecrets]), [[subscription, first]])
      let signingSecrets = first
      for (const version of [2, 3]) {
        const rotated = signingSecrets.slice(0, 1).map((one) => ({
          ...one,
          expiresAt: Option.some(at(500 * version))
        }))
        signingSecrets = [
          { number: version, expiresAt: Option.none(), value: Redacted.make(`whsec_${version}`) },
          ...rotated
        ]
        yield* f.applications.saveSigningSecrets({ applicationId: app.id, version, secrets: signingSecrets })
        yield* f.queue(app, [f.event(10 + version)])
        same((yield* f.claim()).map((one) => [one.subscription, one.signingSecrets]), [[
          subscription,
          signingSecrets
        ]])
      }
      const renewed = { ...subscription, version: 2, callbackUrl: "https://app.example.test/new" }
      yield* f.subscriptions.save(renewed)
      yield* f.queue(app, [f.event(2)])
      const delivery = (yield* f.listed(app)).at(-1)
      const claimed = yield* f.claim({ token: "my token", leaseEnds: at(15) })
      same(claimed, [{
        delivery,
        subscription: renewed,
        signingSecrets,
        token: "my token",
        leaseEnds: at(15),
        claims: 1
      }])
      const state = Option.some("pending" as const)
      const filter = { applicationId: Option.some(app.id), state, after: Option.none(), limit: 1 }
      same((yield* f.deliveries.list(filter)).map(({ id }) => id), [delivery?.id], "is on the list")
    }),
    queueLaw("a released claim does not count, and the delivery is claimed again when it is due", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, [f.event(1), f.event(2)])
      yield* f.claim()
      same(yield* f.claimAt(14.999), [], "what is claimed before the end of the lease")
      const [one, two] = yield* f.claimAt(15)
      if (one === undefined || two === undefined) return yield* Effect.dieMessage("too few were claimed")
      const others = { delivery: two.delivery, token: "of another worker" }
      same(yield* f.deliveryQueue.release([one, others], at(20)), [one.delivery.id])
      same(yield* f.claim({ now: at(19.999), leaseEnds: at(34) }), [])
      const again = yield* f.claimAt(20)
      same(again.map(({ claims, delivery }) => [delivery, claims]), [[{ ...one.delivery, dueAt: at(20) }, 2]])
      yield* f.deliveryQueue.release(again, at(19))
      const third = yield* f.claimAt(19)
      same(third.map(({ delivery }) => delivery.dueAt), [at(19)])
      // It stays before a later event of its object.
      yield* f.queue(app, [f.event(1)])
      yield* f.deliveryQueue.release(third, at(40))
      same(yield* f.claimAt(25), [], "what overtakes it")
      const fourth = (yield* f.claimAt(41)).map(({ delivery }) => delivery.id)
      same(new Set(fourth), new Set([one.delivery.id, two.delivery.id]))
    }),
    queueLaw("a due time or a lease after the latest instant has passed: the clock was set back", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.enqueue(app, [f.event(1, at(0)), f.event(2, at(200)), f.event(3, at(3600)), f.event(3, at(3600))])
      const latest = at(200)
      const early = { leaseEnds: at(15), latest }
      same(objectsOf(yield* f.claim(early)), [1, 3], "what is claimed early")
      same(yield* f.claim(early), [], "what is claimed during the lease")
      const again = yield* f.claim({ ...early, latest: at(14) })
      same(new Set(objectsOf(again)), new Set([1, 2, 3]), "what is claimed by a clock that was set back again")
      yield* f.settle(again)
      same(objectsOf(yield* f.claim(early)), [3], "the next event of an object")
    }),
    queueLaw("a search finds what is wanted among the newest deliveries, and says where to continue", function*(f) {
      const { app } = yield* f.subscribed
      const other = yield* f.subscribed
      for (const one of [app, other.app]) yield* f.enqueue(one, Arr.makeBy(12, (n) => f.event(1 + n % 3, at(n))))
      const half = (yield* f.claimAt(20)).filter((_, place) => place % 2 === 0)
      yield* f.settle(half, { state: "delivered", endedAt: Option.some(at(21)) })
      const listed = [...yield* f.listed(app)].reverse()
      const some = <A>(...values: ReadonlyArray<A>) =>
        FastCheck.option(FastCheck.constantFrom(...values), { freq: 2 }).map(Option.fromNullable)
      const searches = FastCheck.record({
        state: some(...State.literals),
        text: some("1", "3", listed[4]?.event.id ?? "", "nothing"),
        since: some(at(0), at(5)),
        until: some(at(5), at(100)),
        after: some(...listed.map(({ id }) => id)),
        limit: FastCheck.integer({ min: 1, max: 13 }),
        among: FastCheck.integer({ min: 1, max: 13 }),
        about: some(1, 2).map(Option.map((objectId) => ({ objectType: "registration" as const, objectId })))
      })
      yield* forEach(searches, 60, function*({ about, ...wanted }) {
        const objects = Option.match(about, { onNone: () => ({}), onSome: (one) => ({ objects: [one] }) })
        const search = { ...wanted, ...objects, applicationId: Option.some(app.id) }
        const newest = listed.filter(({ id, state }) =>
          !Option.exists(wanted.state, (one) => one !== state) && !Option.exists(wanted.after, (last) => id >= last)
        )
        same(yield* f.deliveries.search(search), searchIn(search, newest.slice(0, wanted.among)))
      })
    }),
    queueLaw("the attempts since an instant are found", function*(f) {
      const { app } = yield* f.subscribed
      const wanted = FastCheck.record({ hour: FastCheck.integer({ min: -3, max: 3 }), attempts })
      yield* forEach(FastCheck.array(wanted, { minLength: 1, maxLength: 6 }), 12, function*(drawn) {
        yield* f.enqueue(app, f.events(Arr.range(1, drawn.length)))
        const claimed = yield* f.claim()
        for (const [place, { attempts, hour }] of drawn.entries()) {
          const tried = attempts.map((one, number) => ({ ...one, at: at(3600 * hour + 700 * number) }))
          yield* f.settle(claimed.slice(place, place + 1), {
            state: "exhausted",
            attempts: tried,
            endedAt: Option.some(at(1e6))
          })
        }
        const all = (yield* f.listed(app)).reverse()
        for (const among of [1, 4, 1000]) {
          const newest = all.slice(0, among).flatMap(({ attempts }) => attempts)
          for (const since of [at(0), at(-3600)]) {
            const recent = newest.filter(({ at }) => at.epochMillis >= since.epochMillis)
            same(inOrder(yield* f.deliveries.attempts(app.id, since, among)), inOrder(recent))
          }
        }
      })
    }),
    queueLaw("a claim that is interrupted at any moment takes all of its deliveries, or none", function*(f) {
      const { app } = yield* f.subscribed
      const objects = Arr.range(1, 5)
      yield* f.queue(app, f.events(objects))
      let seconds = 0
      const claimLater = Effect.suspend(() => f.claimAt(seconds += 20))
      yield* sweep(yield* stepsOf(f.claim()), (step) =>
        Effect.gen(function*() {
          yield* interruptAt(claimLater, step)
          // A database may still be busy with the interrupted claim.
          const claimed = yield* Effect.repeat(claimLater, {
            times: 9,
            until: ({ length }) => length === objects.length
          })
          same(sorted(objectsOf(claimed)), objects, "what is claimed afterwards")
          same(new Set(claimed.map(({ claims }) => claims)).size, 1, "numbers of claims of the deliveries")
        }))
    }),
    queueLaw("a claim that has ended settles and releases nothing", function*(f) {
      const delivered = { state: "delivered", endedAt: Option.some(at(3)) } as const
      for (const end of ["cancellation", "removal", "settlement", "release", "claim after its lease"] as const) {
        const { app, claimed, subscription } = yield* f.claimedDeliveries(3)
        yield* {
          "cancellation": f.deliveryQueue.cancel(app.id, at(1), 1000),
          "removal": f.subscriptions.remove(subscription.id, at(1)),
          "settlement": f.settle(claimed, delivered),
          "release": f.deliveryQueue.release(claimed, at(2)),
          "claim after its lease": f.claimAt(16)
        }[end]
        const before = yield* f.listed(app)
        same(yield* f.settle(claimed, { ...delivered, attempts: [] }), [], `what is settled after its ${end}`)
        same(yield* f.deliveryQueue.release(claimed, at(4)), [], `what is released after its ${end}`)
        same(yield* f.listed(app), before, `the deliveries after their ${end}`)
        yield* f.cleanUp
      }
    }),
    queueLaw("a delivery is made again also while it waits, but only for its own subscription", function*(f) {
      const { app, claimed, subscription } = yield* f.claimedDeliveries(1)
      yield* f.settle(claimed)
      const isMade = Effect.map(
        Effect.forEach(claimed, ({ delivery }) => f.deliveryQueue.again(delivery, at(2))),
        (made) => made.map(Option.isSome)
      )
      yield* f.subscriptions.save({ ...subscription, paused: true, version: 2 })
      same(yield* isMade, [true], "while the subscription is paused")
      yield* f.applications.save({ ...app, state: "suspended", version: 2 })
      same(yield* isMade, [true], "while the application is suspended")
      yield* f.subscriptions.remove(subscription.id, at(3))
      same(yield* isMade, [false], "after the removal of the subscription")
      yield* f.subscription(app)
      same(yield* isMade, [false], "when there is another subscription")
      yield* f.cleanUp
    }),
    queueLaw("the events of a suspended application wait, and those of one that has ended are claimed", function*(f) {
      const { app } = yield* f.subscribed
      const owner = yield* f.user()
      yield* f.grant(app, owner)
      const audience = Audience.GrantedBy({ userIds: [owner.id] })
      const enqueue = f.deliveryQueue.enqueue([{ event: f.event(1), audience }, ...f.outgoing(app, f.event(2))])
      for (const [place, state] of (["suspended", "active", "ended"] as const).entries()) {
        yield* f.applications.save({ ...app, state, version: place + 2 })
        yield* enqueue
        const objects = state === "suspended" ? [] : [1, 2]
        const claimed = yield* f.claim()
        same(objectsOf(claimed), objects, `what is claimed when the application is ${state}`)
        yield* f.settle(claimed)
      }
    }),
    queueLaw("a delivery that is cancelled keeps what it had, and ends at the time of the call", function*(f) {
      for (const end of ["cancellation", "removal"] as const) {
        const { app, claimed, subscription } = yield* f.claimedDeliveries(2)
        const [attempt] = FastCheck.sample(Arbitraries.attempt, { numRuns: 1, seed: 1 })
        yield* f.settle(claimed, { attempts: Arr.fromNullable(attempt), dueAt: at(5) })
        const before = yield* f.listed(app)
        yield* end === "removal"
          ? f.subscriptions.remove(subscription.id, at(1))
          : f.deliveryQueue.cancel(app.id, at(1), 1000)
        const ended = { state: "cancelled", endedAt: Option.some(at(1)) } as const
        same(yield* f.listed(app), before.map((delivery) => ({ ...delivery, ...ended })), `after a ${end}`)
        yield* f.cleanUp
      }
    }),
    queueLaw("a cancellation with a limit cancels the newest pending delivery", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, f.events([1, 2, 3, 4]))
      yield* f.settle((yield* f.claim()).filter(({ delivery }) => delivery.event.objectId > 2))
      same(yield* f.deliveryQueue.cancel(app.id, at(1), 1), 1)
      same((yield* f.listed(app)).map(({ state }) => state), ["pending", "cancelled", "delivered", "delivered"])
    }),
    queueLaw("with a limit of 0, nothing is returned, cancelled or purged", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(2)
      yield* f.settle(claimed.slice(0, 1), { state: "delivered", endedAt: Option.some(long) })
      const before = yield* f.listed(app)
      const all = { applicationId: Option.some(app.id), state: Option.none(), after: Option.none(), limit: 0 }
      same(yield* f.claimAt(20, { limit: 0 }), [])
      same(yield* f.deliveries.list(all), [])
      same(yield* f.deliveries.log({ applicationId: app.id, after: 0, limit: 0 }), [])
      same([yield* f.deliveryQueue.cancel(app.id, at(1), 0), yield* f.deliveries.purge(long, 0)], [0, 0])
      same(yield* f.listed(app), before)
      same(yield* f.deliveries.purge(long, 1), 1)
    }),
    queueLaw("a delivery that is made again takes no place on a page of the log", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, f.events([1, 2]))
      for (const delivery of yield* f.listed(app)) {
        for (let count = 0; count < 5; count++) yield* f.deliveryQueue.again(delivery, at(1))
      }
      yield* f.queue(app, f.events([3, 4, 5]))
      const { read } = reader(f, app)
      for (const objects of [[1, 2], [3, 4], [5], []]) {
        same((yield* read(2)).map(({ delivery }) => delivery.event.objectId), objects)
      }
    }),
    queueLaw("a reader whose last event was purged continues, and other positions are unknown", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(2)
      const read = (after: number) => f.deliveries.log({ applicationId: app.id, after, limit: 9 })
      const last = (yield* read(0)).at(-1)?.position ?? 0
      same(yield* tagOf(read(maxId)), "@startlist/core/UnknownPosition", "behind the last event")
      yield* f.settle(claimed, { state: "delivered", endedAt: Option.some(long) })
      // Also those of other laws, so that there is no delivery.
      yield* Effect.repeat(f.deliveries.purge(Arbitraries.latest, 1000), {
        until: (count) => count < 1000,
        times: 100
      })
      same(yield* read(last), [])
      same(yield* tagOf(read(maxId)), "@startlist/core/UnknownPosition", "in a log without events")
      yield* f.queue(app, [f.event(3)])
      same(yield* tagOf(read(maxId)), "@startlist/core/UnknownPosition", "before a new event")
      same((yield* read(last)).map(({ delivery }) => delivery.event.objectId), [3])
    }),
    queueLaw("a page of deliveries continues behind one that was purged", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(3)
      const [, second] = claimed
      if (second === undefined) return yield* Effect.dieMessage("three deliveries are due, but fewer were claimed")
      yield* f.settle([second], { state: "delivered", endedAt: Option.some(long) })
      yield* f.purge
      const applicationId = Option.some(app.id)
      const after = Option.some(second.delivery.id)
      const page = yield* f.deliveries.list({ applicationId, state: Option.none(), after, limit: 9 })
      same(page.map(({ event }) => event.objectId), [1])
    }),
    queueLaw("of 1,500 pending deliveries, of which the first 1,000 cannot be claimed, the others are", function*(f) {
      const [leased, paused, waiting] = [yield* f.subscribed, yield* f.subscribed, yield* f.subscribed]
      const [busy, quiet, third] = [yield* f.subscribed, yield* f.subscribed, yield* f.subscribed]
      yield* f.enqueue(leased.app, f.events(Arr.range(1, 300)))
      yield* f.enqueue(waiting.app, f.events(Arr.makeBy(301, () => 1)))
      same((yield* f.claim({ leaseEnds: at(1000) })).length, 301)
      yield* f.enqueue(paused.app, f.events(Arr.range(1, 400)))
      yield* f.subscriptions.save({ ...paused.subscription, paused: true, version: 2 })
      yield* f.enqueue(busy.app, f.events(Arr.range(1, 480), at(1)))
      yield* f.enqueue(quiet.app, f.events(Arr.range(1001, 1020), at(5)))
      const claim = (limit: number, perSubscription: number, allowance = perSubscription) => {
        const allowances = new Map([[busy.subscription.id, allowance]])
        const claimed = f.claim({ now: at(10), leaseEnds: at(1000), limit, perSubscription, allowances })
        return Effect.map(claimed, objectsOf)
      }
      same(yield* claim(4, 2, 0), [1001, 1002], "without an allowance of the busy subscription")
      same(yield* claim(4, 2, 1), [1, 1003, 1004], "with an allowance of the busy subscription")
      same(yield* claim(4, 3), [2, 3, 4, 1005], "with shares")
      yield* f.enqueue(third.app, [f.event(2000, at(6))])
      same(yield* claim(2, 1), [5, 1006], "with a share of one")
      same(yield* claim(1000, 1000), [...Arr.range(6, 480), ...Arr.range(1007, 1020), 2000], "all others")
      same(yield* f.subscriptions.remove(paused.subscription.id, at(11)), true)
      same(yield* f.deliveryQueue.cancel(busy.app.id, at(11), 1000), 480)
      for (const { app } of [paused, busy]) {
        same((yield* f.listed(app)).filter(({ state }) => state !== "cancelled"), [], "what is not cancelled")
      }
      yield* f.cleanUp
    }),
    queueLaw("a claim during which a change ends treats what is queued after it by that change", function*(f) {
      // An event that is not due: a store may not look further if it has none.
      const subscribed = Effect.tap(
        f.subscribed,
        ({ app }) => f.enqueue(app, [f.event(2, at(500))])
      )
      yield* subscribed
      const steps = yield* stepsOf(f.claim())
      for (const change of ["pause", "suspension", "callback", "secrets"] as const) {
        yield* sweep(steps, (step) =>
          Effect.gen(function*() {
            const { app, subscription } = yield* subscribed
            const next = { ...subscription, callbackUrl: "https://app.example.test/next", version: 2 }
            const secrets = [{ ...first, value: Redacted.make(f.name("whsec")) }]
            const save = {
              pause: f.subscriptions.save({ ...subscription, paused: true, version: 2 }),
              suspension: f.applications.save({ ...app, state: "suspended", version: 2 }),
              callback: f.subscriptions.save(next),
              secrets: f.applications.saveSigningSecrets({ applicationId: app.id, version: 2, secrets })
            }[change]
            const queued = Effect.zipRight(save, f.enqueue(app, [f.event(1)]))
            const [[claimed = []]] = yield* inTheMiddle([[f.claim(), step]], queued, steps.millis)
            if (change === "pause" || change === "suspension") same(claimed, [], `what is claimed after a ${change}`)
            for (const one of claimed) {
              if (change === "callback") same(one.subscription, next)
              if (change === "secrets") same(one.signingSecrets, secrets)
            }
            yield* f.cleanUp
          }))
      }
    }),
    queueLaw("a wake-up reaches all listeners, even if one is busy, and one has ended", function*(f) {
      const { app } = yield* f.subscribed
      const heard = [0, 0, 0, 0]
      const busy = yield* Effect.fork(Stream.runForEach(f.deliveryQueue.wakeUps, () => Effect.never))
      const listeners = yield* Effect.forEach(
        heard,
        (_, place) =>
          Effect.fork(
            Stream.runForEach(
              f.deliveryQueue.wakeUps,
              () => Effect.sync(() => void heard.splice(place, 1, (heard[place] ?? 0) + 1))
            )
          )
      )
      yield* Effect.sleep(20)
      // Hints may be lost, and a store may have none.
      let byAll = 0
      for (let round = 0; round < 8; round++) {
        if (round === 4) yield* Effect.forEach(listeners.splice(-1), (one) => Fiber.interrupt(one))
        const before = [...heard]
        const areHeard = () => listeners.every((_, place) => (heard[place] ?? 0) > (before[place] ?? 0))
        yield* f.queue(app, [f.event(round + 1)])
        for (let waited = 0; waited < 10 && !areHeard(); waited++) yield* Effect.sleep(5)
        // The first hints also arrive if a busy listener blocks those after them.
        if (round >= 4 && areHeard()) byAll++
      }
      yield* Fiber.interruptAll([busy, ...listeners])
      holds(byAll > 0 || heard.every((count) => count === 0), "all listeners hear of an event")
    })
  ]
}
