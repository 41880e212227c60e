/** Laws of claims: what they contain, when they end, and what changes and interruptions do to them. */
import { first } from "@startlist/core/ApplicationSecret"
import type { Claimed } from "@startlist/core/DeliveryQueue"
import { Audience } from "@startlist/core/Event"
import type { Stores } from "@startlist/core/Services"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Law } from "../Suite.ts"
import { same, sorted } from "./expecting.ts"
import { at, objectsOf } from "./fixture.ts"
import { inTheMiddle, stepsOf, sweep } from "./rounds.ts"
import { interruptAt } from "./stepping.ts"
import { queueLaw } from "./storeLaw.ts"

/** The numbers of claims by object. */
const countsOf = (claimed: ReadonlyArray<Claimed>): ReadonlyMap<number, number> =>
  new Map(claimed.map(({ claims, delivery }) => [delivery.event.objectId, claims]))

export const claimLaws: ReadonlyArray<Law<Stores>> = [
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
  queueLaw("a claim that is interrupted at any moment takes all of its deliveries, or none", function*(f) {
    const { app } = yield* f.subscribed
    const objects = Arr.range(1, 5)
    yield* f.queue(app, f.events(objects))
    let seconds = 0
    const claimLater = Effect.suspend(() => f.claimAt(seconds += 20))
    const stops = yield* stepsOf(claimLater)
    let counted = countsOf(yield* claimLater)
    yield* sweep(stops, (step) =>
      Effect.gen(function*() {
        yield* interruptAt(claimLater, step)
        // A database may still be busy with the interrupted claim. Then the next one gets only the others, or none.
        const claims: Array<ReadonlyArray<Claimed>> = []
        const last = yield* Effect.repeat(
          Effect.tap(claimLater, (claimed) => Effect.sync(() => claims.push(claimed))),
          {
            times: 9,
            until: ({ length }) => length === objects.length
          }
        )
        same(sorted(objectsOf(last)), objects, "what is claimed afterwards")
        const next = claims.map(objectsOf).find(({ length }) => length > 0) ?? []
        const left = next.length === objects.length ? objects : Arr.difference(objects, next)
        const counts = countsOf(last)
        const taken = objects.filter((object) => {
          const known = claims.filter((claimed) => objectsOf(claimed).includes(object)).length
          return counts.get(object) !== (counted.get(object) ?? 0) + known
        })
        counted = counts
        same(sorted(taken), taken.length === 0 ? [] : left, "what the interrupted claim has taken")
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
  })
]
