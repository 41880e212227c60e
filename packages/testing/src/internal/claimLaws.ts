/** Laws of claims: which deliveries can be claimed, and what a claim holds. Each begins with an empty queue. */
import { State } from "@startlist/core/Delivery"
import type { Claimed } from "@startlist/core/DeliveryQueue"
import { emptyUpdates } from "@startlist/core/Registration"
import type { Stores } from "@startlist/core/Stores"
import * as Arr from "effect/Array"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type LawGroup } from "../Law.ts"
import { noStops, stepsOf, type Stops, sweep } from "./rounds.ts"
import { interruptAt } from "./stepping.ts"
import { queueLaw } from "./storeLaw.ts"
import { holds, same, sorted } from "./expecting.ts"
import { at, objectsOf, settled, start } from "./fixture.ts"

/** Each object and the number of its claim, by object. */
const counts = (claimed: ReadonlyArray<Claimed>): ReadonlyArray<readonly [object: number, claims: number]> =>
  claimed.map(({ claims, delivery }) => [delivery.event.objectId, claims] as const).sort(([a], [b]) => a - b)

export const claimLaws: LawGroup<Stores> = {
  about: "claims",
  laws: [
    queueLaw(
      "a claim gets the delivery, its subscription and signing secrets as they are now, its token, end of lease and number",
      function*(f) {
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
          signingSecrets = [{ value: Redacted.make(`whsec_${version}`), expiresAt: Option.none() }, ...rotated]
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
      }
    ),
    queueLaw(
      "each delivery of a claim has its own event, its subscription and the secrets of its application",
      function*(f) {
        const all = [yield* f.subscribed, yield* f.subscribed, yield* f.subscribed]
        const expected = []
        for (const { app, subscription } of all) {
          const { secrets } = yield* f.signingSecrets(app)
          // Applications are at different events of the same objects. All are due in the same second.
          yield* f.queue(app, [f.event(1, at(0.001)), f.event(2, at(0.002))])
          expected.push(...(yield* f.listed(app)).map((delivery) => [delivery, subscription, secrets]))
        }
        const claimed = [...yield* f.claimAt(1)].sort((a, b) => a.delivery.id - b.delivery.id)
        same(claimed.map((one) => [one.delivery, one.subscription, one.signingSecrets]), expected)
      }
    ),
    queueLaw("deliveries are claimed when they are due, and not before", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, [f.event(1, at(9)), f.event(2, at(10)), f.event(3, at(11)), f.event(4, at(10.001))])
      same(objectsOf(yield* f.claimAt(10)), [1, 2])
      same(objectsOf(yield* f.claim({ now: at(10.999), leaseEnds: at(25) })), [4])
      same(objectsOf(yield* f.claimAt(11)), [3])
    }),
    queueLaw("the time of the caller counts, also years before or after that of the store", function*(f) {
      for (const years of [-28, 70]) {
        const { app, subscription } = yield* f.subscribed
        const then = (seconds: number) => DateTime.add(at(seconds), { years })
        yield* f.queue(app, [f.event(1, then(10))])
        const mine = (seconds: number) =>
          Effect.map(
            f.claim({ now: then(seconds), leaseEnds: then(seconds + 15) }),
            (found) => found.filter((one) => one.subscription.id === subscription.id)
          )
        same(yield* mine(9.999), [], "what is claimed before it is due")
        same((yield* mine(10)).length, 1, "what is claimed when it is due")
        same(yield* mine(24.999), [], "what is claimed while a lease lives")
        same((yield* mine(25)).length, 1, "what is claimed when the lease has ended")
        yield* f.subscriptions.remove(subscription.id, then(30))
      }
    }),
    queueLaw("a claimed delivery is claimed again only after its lease has ended", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, [f.event(1)])
      const [first] = yield* f.claim({ leaseEnds: at(15) })
      same(yield* f.claim({ now: at(14.999), leaseEnds: at(29) }), [])
      const [second] = yield* f.claimAt(15)
      same(second, { ...first, token: second?.token, leaseEnds: at(30), claims: 2 })
      holds(second?.token !== first?.token, "each claim has a token of its own")
      same(yield* f.claim({ now: at(29.999), leaseEnds: at(44) }), [])
      same(objectsOf(yield* f.claim({ now: at(30), leaseEnds: at(45.999) })), [1])
      same(yield* f.claim({ now: at(45.998), leaseEnds: at(60) }), [])
      same(objectsOf(yield* f.claim({ now: at(45.999), leaseEnds: at(60) })), [1])
    }),
    queueLaw("claims are counted for each delivery, and a settlement starts the count again", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, [f.event(1), f.event(2)])
      same(counts(yield* f.claim({ limit: 1 })), [[1, 1]])
      const second = yield* f.claimAt(15)
      same(counts(second), [[1, 2], [2, 1]])
      yield* f.settle(second.slice(0, 1), { dueAt: at(5) })
      yield* f.deliveryQueue.settle(second.slice(1).map(({ delivery }) => ({ delivery, token: "of another worker" })))
      same(counts(yield* f.claimAt(30)), [[1, 1], [2, 2]])
    }),
    queueLaw("a released claim does not count, and the delivery is claimed again when it is due", function*(f) {
      const { app } = yield* f.subscribed
      yield* f.queue(app, [f.event(1), f.event(2)])
      yield* f.claim()
      const [one, two] = yield* f.claimAt(15)
      if (one === undefined || two === undefined) return yield* Effect.dieMessage("too few were claimed")
      const others = { delivery: two.delivery, token: "of another worker" }
      same(yield* f.deliveryQueue.release([one, others], at(20)), [one.delivery.id])
      same(yield* f.deliveryQueue.release([one], at(25)), [])
      same(yield* f.settle([one]), [])
      same(yield* f.claim({ now: at(19.999), leaseEnds: at(34) }), [])
      const again = yield* f.claimAt(20)
      same(again.map(({ claims, delivery }) => [delivery, claims]), [[{ ...one.delivery, dueAt: at(20) }, 2]])
      yield* f.deliveryQueue.release(again, at(19))
      const third = yield* f.claimAt(19)
      same(third.map(({ delivery }) => delivery.dueAt), [at(19)])
      // It stays before a later event of its object.
      yield* f.queue(app, [f.event(1)])
      yield* f.deliveryQueue.release(third, at(40))
      const fourth = (yield* f.claimAt(41)).map(({ delivery }) => delivery.id)
      same(new Set(fourth), new Set([one.delivery.id, two.delivery.id]))
    }),
    queueLaw("parallel claims get each delivery once", function*(f) {
      const { app } = yield* f.subscribed
      const objects = Arr.range(1, 24)
      yield* f.queue(app, f.events(objects))
      for (const round of Arr.range(1, 8)) {
        const claim = f.claimAt(20 * round)
        const claims = yield* Effect.all(Array.from({ length: 8 }, () => claim), { concurrency: "unbounded" })
        // A claim skips what another one has locked.
        const claimed = [...claims.flat(), ...yield* claim]
        same(counts(claimed), objects.map((object) => [object, round]), `round ${round}`)
      }
    }),
    queueLaw("a claim that is interrupted is counted for what it has claimed, and for nothing else", function*(f) {
      const { app } = yield* f.subscribed
      const claim = f.claimAt(20)
      const interrupted = (interrupt: Effect.Effect<unknown, unknown>) =>
        Effect.gen(function*() {
          yield* f.enqueue(app, f.events([1, 2]))
          yield* f.claim()
          yield* f.enqueue(app, [f.event(3)])
          yield* interrupt
          // Whatever it has not claimed can be claimed now, once a database has unlocked it.
          let others = yield* claim
          for (let left = 3; left > 0 && others.length < 3; left--) {
            yield* Effect.sleep(10)
            others = [...others, ...yield* claim]
          }
          const claimed = yield* f.claimAt(40)
          same(counts(claimed), [[1, 3], [2, 3], [3, 2]])
          yield* f.settle(claimed)
        })
      let steps: Stops<number> = noStops
      yield* interrupted(Effect.map(stepsOf(claim), (all) => void (steps = all)))
      yield* sweep(steps, (step) => interrupted(interruptAt(claim, step)))
    }),
    queueLaw("deliveries that are not pending are not claimed", function*(f) {
      const { app } = yield* f.subscribed
      const states = State.literals.filter((state) => state !== "pending")
      yield* f.queue(app, states.map((_, index) => f.event(index + 1)))
      const claimed = yield* f.claim()
      yield* f.deliveryQueue.settle(
        claimed.flatMap((one, index) =>
          settled([one], { state: states[index] ?? "delivered", endedAt: Option.some(at(1)) })
        )
      )
      same(yield* f.claimAt(1000), [])
    }),
    queueLaw(
      "of one object for one subscription only the first is claimed, in the order of the saves, not of the times",
      function*(f) {
        const { app } = yield* f.subscribed
        const updates = (comment: string) => ({ updates: { ...emptyUpdates, comment } })
        yield* f.queue(app, [
          f.event(1, at(2), updates("first")),
          f.event(1, at(1), updates("second")),
          f.event(2, at(3))
        ])
        same(yield* f.claim({ now: at(1) }), [])
        const claimed = yield* f.claimAt(10)
        same(objectsOf(claimed), [1, 2])
        same(claimed[0]?.delivery.event.updates, { ...emptyUpdates, comment: "first" })
        same(yield* f.claimAt(11), [])
        yield* f.settle(claimed.slice(0, 1))
        const [second] = yield* f.claimAt(12)
        same(second?.delivery.event.updates, { ...emptyUpdates, comment: "second" })
      }
    ),
    queueLaw(
      "of events about one object that are queued by one save, or at the same time, one is claimed",
      function*(f) {
        const { app } = yield* f.subscribed
        yield* f.enqueue(app, [f.event(1), f.event(1), f.event(2)])
        const queueing = Array.from({ length: 8 }, () => f.enqueue(app, [f.event(3)]))
        yield* Effect.all(queueing, { concurrency: "unbounded" })
        const claimed = yield* f.claim()
        same(sorted(objectsOf(claimed)), [1, 2, 3])
        yield* f.settle(claimed)
        same(sorted(objectsOf(yield* f.claim())), [1, 3])
      }
    ),
    ...(["exhausted", "set_aside"] as const).map((state) =>
      queueLaw(
        `a later event of an object waits until the earlier one is ${state}, also for its retries`,
        function*(f) {
          yield* f.queue((yield* f.subscribed).app, [f.event(1), f.event(1, at(1))])
          const first = yield* f.claim()
          yield* f.settle(first, { dueAt: at(60) })
          same(yield* f.claimAt(59), [])
          const retried = yield* f.claimAt(60)
          same(retried.map(({ delivery }) => delivery), first.map(({ delivery }) => ({ ...delivery, dueAt: at(60) })))
          yield* f.settle(retried, { state, endedAt: Option.some(start) })
          const later = yield* f.claimAt(61)
          same(later.map(({ delivery }) => delivery.dueAt), [at(1)])
        }
      )
    ),
    queueLaw("objects of another type, and other subscriptions, do not wait for each other", function*(f) {
      const [one, two] = [yield* f.subscribed, yield* f.subscribed]
      const revoked = { aspectType: "deleted", updates: {} } as const
      yield* f.queue(one.app, [
        f.event(1),
        f.event(1, at(0), { ...revoked, objectType: "athlete" }),
        f.event(1, at(0), { ...revoked, objectType: "organizer" })
      ])
      yield* f.queue(two.app, [f.event(1)])
      const claimed = yield* f.claim()
      same(claimed.map(({ subscription }) => subscription.id), [
        one.subscription.id,
        one.subscription.id,
        one.subscription.id,
        two.subscription.id
      ])
      // One call queues events of both types, and only one of these waits for an earlier one.
      const athlete = f.event(1, at(0), { ...revoked, objectType: "athlete" })
      yield* f.deliveryQueue.enqueue(f.outgoing(two.app, f.event(1), athlete))
      same((yield* f.claim()).map(({ delivery }) => delivery.event), [athlete])
    })
  ]
}
