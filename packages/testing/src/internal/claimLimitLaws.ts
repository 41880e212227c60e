/** Laws of the limits of claims. Each begins with an empty queue. */
import type { Stores } from "@startlist/core/Stores"
import * as Arr from "effect/Array"
import { type LawGroup } from "../Law.ts"
import { same } from "./expecting.ts"
import { at, objectsOf } from "./fixture.ts"
import { queueLaw } from "./storeLaw.ts"

export const claimLimitLaws: LawGroup<Stores> = {
  about: "limits of claims",
  laws: [
    queueLaw("the earliest due come first, at most the limit", function*(f) {
      const [one, two] = [yield* f.subscribed, yield* f.subscribed]
      yield* f.queue(one.app, [f.event(1, at(4)), f.event(2, at(2))])
      yield* f.queue(two.app, [f.event(3, at(3)), f.event(4, at(1)), f.event(5, at(5))])
      const request = { now: at(10), leaseEnds: at(25), limit: 2 }
      same(objectsOf(yield* f.claim(request)), [4, 2])
      same(objectsOf(yield* f.claim(request)), [3, 1])
      same(objectsOf(yield* f.claim(request)), [5])
      same(yield* f.claim(request), [])
    }),
    queueLaw("a limit of zero claims nothing", function*(f) {
      yield* f.queue((yield* f.subscribed).app, [f.event(1)])
      same(yield* f.claim({ limit: 0 }), [])
      same(yield* f.claim({ perSubscription: 0 }), [])
      same(objectsOf(yield* f.claim()), [1])
    }),
    queueLaw(
      "one subscription gets at most its share, its earliest first, and does not delay the others",
      function*(f) {
        const [one, two] = [yield* f.subscribed, yield* f.subscribed]
        yield* f.queue(one.app, Arr.range(1, 5).map((id) => f.event(id, at(6 - id))))
        yield* f.queue(two.app, Arr.range(11, 13).map((id) => f.event(id, at(id))))
        const request = { now: at(20), leaseEnds: at(35), perSubscription: 2, limit: 4 }
        same(objectsOf(yield* f.claim(request)), [5, 4, 11, 12])
      }
    ),
    queueLaw("an allowance replaces the share, down to zero", function*(f) {
      const [one, two, three] = [yield* f.subscribed, yield* f.subscribed, yield* f.subscribed]
      yield* f.queue(one.app, Arr.range(1, 3).map((id) => f.event(id, at(id))))
      yield* f.queue(two.app, Arr.range(4, 6).map((id) => f.event(id, at(id))))
      yield* f.queue(three.app, Arr.range(7, 9).map((id) => f.event(id, at(id))))
      const allowances = new Map([[one.subscription.id, 0], [two.subscription.id, 1]])
      const request = { now: at(20), leaseEnds: at(35), perSubscription: 2 }
      same(objectsOf(yield* f.claim({ ...request, allowances })), [4, 7, 8])
      same(objectsOf(yield* f.claim(request)), [1, 2, 5, 6, 9])
    }),
    queueLaw("a subscription with more due than the limit does not keep others from being claimed", function*(f) {
      const [busy, quiet] = [yield* f.subscribed, yield* f.subscribed]
      yield* f.queue(busy.app, f.events(Arr.range(1, 30)))
      yield* f.queue(quiet.app, [f.event(100, at(5))])
      const allowances = new Map([[busy.subscription.id, 0]])
      same(objectsOf(yield* f.claimAt(10, { limit: 5, allowances })), [100])
      const claimed = yield* f.claimAt(10, { limit: 5, perSubscription: 3 })
      same(objectsOf(claimed), [1, 2, 3])
    }),
    queueLaw("shares and allowances hold in front of a long queue, too", function*(f) {
      const [busy, quiet, third] = [yield* f.subscribed, yield* f.subscribed, yield* f.subscribed]
      yield* f.enqueue(busy.app, f.events(Arr.range(1, 120)))
      yield* f.queue(quiet.app, f.events(Arr.range(201, 204), at(5)))
      const request = { now: at(10), leaseEnds: at(25), limit: 4 }
      const allowances = new Map([[busy.subscription.id, 1]])
      same(objectsOf(yield* f.claim({ ...request, perSubscription: 2, allowances })), [1, 201, 202])
      same(objectsOf(yield* f.claim({ ...request, perSubscription: 3 })), [2, 3, 4, 203])
      yield* f.queue(third.app, [f.event(301, at(6))])
      same(objectsOf(yield* f.claim({ ...request, limit: 2, perSubscription: 1 })), [5, 204])
    })
  ]
}
