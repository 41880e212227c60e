/** Pairs of operations that meet in one record, or in the deliveries of one object, with what must come of them. */
import type { ApplicationId } from "@startlist/core/Application"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { count, holds, same } from "./expecting.ts"
import { at, ended, type Fixture, following, settled } from "./fixture.ts"
import { versionedRecords } from "./records.ts"
import type { Steps } from "./storeLaw.ts"
import { claimedOf, claimedOne, early } from "./trials.ts"

export interface Race {
  readonly contenders: ReadonlyArray<Effect.Effect<unknown, unknown>>
  /** Looks at what came of them. `outcomes` are tags of failures, or "success". */
  readonly check: (outcomes: ReadonlyArray<string>) => Steps
}

/** `f` makes the records. The contenders use both: two handles over one storage, or the same one twice. */
export type Prepare = (f: Fixture, g: Fixture) => Steps<Race>

const objectsOf = (claimed: ReadonlyArray<{ readonly delivery: { readonly event: { readonly objectId: number } } }>) =>
  claimed.map(({ delivery }) => delivery.event.objectId)

const later = { now: at(-980), leaseEnds: at(-965) }

const isPending = ({ state }: { readonly state: string }): boolean => state === "pending"

/** Saves of one version: one succeeds, and only its events are queued. */
const savesOf = (kind: keyof typeof versionedRecords): Prepare =>
  function*(f, g) {
    const { as, finds, hasEvents, queued, save } = yield* versionedRecords[kind](f)
    return {
      contenders: [1, 2, 3].map((place) => save(place === 2 ? g : f, place, 2)),
      *check(outcomes) {
        same(count(outcomes, "success"), 1, "saves over one version that succeed")
        same(count(outcomes, "Conflict"), 2, "saves over one version that are refused")
        const saved = outcomes.indexOf("success") + 1
        for (const find of [...finds(f), ...finds(g)]) same(yield* find, as(saved, 2), "the record afterwards")
        same(yield* queued, hasEvents ? [saved] : [], "objects of the events that are queued")
      }
    }
  }

const firstSavesOfGrant: Prepare = function*(f, g) {
  const app = yield* f.application()
  const owner = yield* f.user()
  const all = [1, 2, 3].map(() => f.newGrant(app, owner, { codes: [f.code()] }))
  return {
    contenders: all.map((grant, place) => (place === 1 ? g : f).grants.save({ grant, outgoing: [] })),
    *check(outcomes) {
      same(count(outcomes, "success"), 1, "first saves that succeed")
      same(yield* g.findGrant(app.id, owner.id), all[outcomes.indexOf("success")], "the grant afterwards")
    }
  }
}

const saveAndRemovalOfSubscription: Prepare = function*(f, g) {
  const { app, subscription } = yield* f.subscribed
  return {
    contenders: [
      f.subscriptions.save({ ...subscription, version: 2, updatedAt: at(1) }),
      g.subscriptions.remove(subscription.id, at(2))
    ],
    *check(outcomes) {
      same(outcomes[1], "success", "the removal")
      same(yield* f.subscriptions.findByApplication(app.id), Option.none(), "the subscription afterwards")
      same(yield* g.subscriptions.remove(subscription.id, at(3)), false, "a second removal")
    }
  }
}

const removalsOfSubscription: Prepare = function*(f, g) {
  const { app, subscription } = yield* f.subscribed
  yield* f.queue(app, [f.event(1)])
  const removed: Array<number> = []
  const remove = (by: Fixture, seconds: number) =>
    Effect.map(by.subscriptions.remove(subscription.id, at(seconds)), (isRemoved) => {
      if (isRemoved) removed.push(seconds)
    })
  return {
    contenders: [remove(f, 1), remove(g, 2)],
    *check() {
      same(removed.length, 1, "removals of one subscription that removed it")
      same((yield* f.listed(app)).map(({ endedAt }) => endedAt), removed.map(at), "when its delivery was cancelled")
    }
  }
}

const insertsOfSubscription: Prepare = function*(f, g) {
  const app = yield* f.application()
  return {
    contenders: [f.subscription(app, "https://a.example.test"), g.subscription(app, "https://b.example.test")],
    *check(outcomes) {
      same([...outcomes].sort(), ["AlreadySubscribed", "success"], "two subscriptions of one application")
      const kept = Option.getOrThrow(yield* g.subscriptions.findByApplication(app.id))
      same(kept.callbackUrl, `https://${outcomes[0] === "success" ? "a" : "b"}.example.test`)
    }
  }
}

const insertAndRemovalOfSubscription: Prepare = function*(f, g) {
  const { app, subscription } = yield* f.subscribed
  return {
    contenders: [f.subscription(app), g.subscriptions.remove(subscription.id, at(1))],
    *check([insert]) {
      const left = yield* f.subscriptions.findByApplication(app.id)
      same(Option.isSome(left), insert === "success", "whether there is a subscription afterwards")
      if (Option.isSome(left)) {
        holds(left.value.id !== subscription.id, "the new subscription has its own identifier")
      }
    }
  }
}

const inserts: Prepare = function*(f, g) {
  const user = yield* f.user()
  const ids = {
    applications: new Array<ApplicationId>(),
    registrations: new Array<number>(),
    deliveries: new Array<number>()
  }
  const subscriptions: Array<number> = []
  return {
    contenders: [f, g, f].flatMap((h) => [
      Effect.gen(function*() {
        const { app, subscription } = yield* h.subscribed
        ids.applications.push(app.id)
        subscriptions.push(subscription.id)
        yield* h.deliveryQueue.enqueue(h.outgoing(app, h.event(1)))
        for (const { id } of yield* h.listed(app)) ids.deliveries.push(id)
      }),
      Effect.map(h.registration(user), ({ id }) => ids.registrations.push(id))
    ]),
    *check() {
      for (const id of ids.applications) {
        same(Option.map(yield* g.applications.find(id), ({ version }) => version), Option.some(1))
      }
      for (const [name, all] of Object.entries({ ...ids, subscriptions })) {
        same(new Set(all).size, 3, `identifiers of three ${name}`)
      }
    }
  }
}

/** A save that queues an event for a subscription that is removed: what is queued is cancelled. */
const saveAndRemoval: Prepare = function*(f, g) {
  const { app, subscription } = yield* f.subscribed
  const first = yield* f.registration(yield* f.user())
  const grant = yield* f.grant(app, yield* f.user())
  const outgoing = (object: number) => f.outgoing(app, f.event(object))
  return {
    contenders: [
      f.registrations.save({ ...first, version: 2 }, outgoing(1)),
      f.grants.save({ grant: following(grant), outgoing: outgoing(2) }),
      f.deliveryQueue.enqueue(outgoing(3)),
      g.subscriptions.remove(subscription.id, at(1))
    ],
    *check(outcomes) {
      same(outcomes, ["success", "success", "success", "success"])
      same((yield* f.listed(app)).filter(isPending), [], "what is pending for a removed subscription")
    }
  }
}

const settlementAndRemoval: Prepare = function*(f, g) {
  const { app, claimed, subscription } = yield* claimedOf(f, [1, 2])
  yield* f.queue(app, [f.event(1)])
  let recorded: ReadonlyArray<number> = []
  return {
    contenders: [
      Effect.map(
        f.deliveryQueue.settle(settled(claimed)),
        (ids) => {
          recorded = ids
        }
      ),
      g.subscriptions.remove(subscription.id, at(1))
    ],
    *check() {
      const expected = claimed.map(({ delivery }) => recorded.includes(delivery.id) ? "delivered" : "cancelled")
      same(
        (yield* f.listed(app)).map(({ state }) => state),
        [...expected, "cancelled"],
        "the deliveries afterwards"
      )
    }
  }
}

const claimAndRemoval: Prepare = function*(f, g) {
  const { app, subscription } = yield* f.subscribed
  yield* f.queue(app, [f.event(1, early), f.event(2, early)])
  let claims: Effect.Effect.Success<ReturnType<Fixture["claim"]>> = []
  return {
    contenders: [
      Effect.map(f.claim({ now: early, leaseEnds: at(-985) }), (found) => {
        claims = found.filter((one) => one.subscription.id === subscription.id)
      }),
      g.subscriptions.remove(subscription.id, at(1))
    ],
    *check() {
      same((yield* f.listed(app)).map(({ state }) => state), ["cancelled", "cancelled"])
      const late = yield* f.deliveryQueue.settle(settled(claims))
      same(late, [], "settlements after the removal")
    }
  }
}

const againAndRemoval: Prepare = function*(f, g) {
  const { app, subscription, ...one } = yield* claimedOne(f)
  yield* f.deliveryQueue.settle(settled([one]))
  let isQueued = false
  return {
    contenders: [
      Effect.map(f.deliveryQueue.again(one.delivery, at(5)), (again) => {
        isQueued = Option.isSome(again)
      }),
      g.subscriptions.remove(subscription.id, at(1))
    ],
    *check() {
      const expected = isQueued ? ["delivered", "cancelled"] : ["delivered"]
      same((yield* f.listed(app)).map(({ state }) => state), expected, "the deliveries afterwards")
    }
  }
}

/** Two settlements under one claim: one is recorded. */
const settlements: Prepare = function*(f, g) {
  const one = yield* claimedOne(f)
  const endings = [ended(one.delivery), ended(one.delivery, "exhausted"), { ...one.delivery, dueAt: at(70) }]
  const recorded: Array<number> = []
  return {
    contenders: endings.map((delivery, place) =>
      Effect.map((place === 1 ? g : f).deliveryQueue.settle([{ delivery, token: one.token }]), (ids) => {
        if (ids.length > 0) recorded.push(place)
      })
    ),
    *check() {
      same(recorded.length, 1, "settlements under one claim that are recorded")
      same(yield* g.deliveries.find(one.delivery.id), endings[recorded[0] ?? 0], "the delivery afterwards")
    }
  }
}

/** A worker is late: another one claims what it settles. */
const settlementAndClaim: Prepare = function*(f, g) {
  const { app, ...one } = yield* claimedOne(f)
  let [isSettled, isClaimed] = [false, false]
  return {
    contenders: [
      Effect.map(f.deliveryQueue.settle(settled([one])), (ids) => {
        isSettled = ids.length > 0
      }),
      Effect.map(g.claim(later), (found) => {
        isClaimed = found.some(({ delivery }) => delivery.id === one.delivery.id)
      })
    ],
    *check() {
      holds(isSettled !== isClaimed, `settled: ${isSettled}, claimed by another worker: ${isClaimed}`)
      same((yield* f.listed(app)).map(({ state }) => state), [isSettled ? "delivered" : "pending"])
    }
  }
}

const releaseAndSettlement: Prepare = function*(f, g) {
  const one = yield* claimedOne(f)
  const recorded: Array<string> = []
  const note = (what: string) => (ids: ReadonlyArray<number>) => {
    if (ids.length > 0) recorded.push(what)
  }
  return {
    contenders: [
      Effect.map(f.deliveryQueue.settle(settled([one])), note("delivered")),
      Effect.map(g.deliveryQueue.release([one], at(70)), note("pending"))
    ],
    *check() {
      same(recorded.length, 1, "what is recorded of a settlement and a release")
      same(Option.map(yield* g.deliveries.find(one.delivery.id), ({ state }) => state), recorded[0])
    }
  }
}

const claims: Prepare = function*(f, g) {
  const { app, subscription } = yield* f.subscribed
  yield* f.queue(app, [1, 2, 3, 1, 2].map((object) => f.event(object, early)))
  const all: Array<number> = []
  const claim = (by: Fixture) =>
    Effect.map(by.claim({ now: early, leaseEnds: at(-985), limit: 2 }), (found) => {
      all.push(...objectsOf(found.filter((one) => one.subscription.id === subscription.id)))
    })
  return {
    contenders: [claim(f), claim(g), claim(f)],
    *check() {
      const rest = (yield* g.claim({ now: early, leaseEnds: at(-985) })).filter((one) =>
        one.subscription.id === subscription.id
      )
      same(objectsOf(rest), [], "objects that are left to claim")
      same(all.sort((a, b) => a - b), [1, 2, 3], "objects that were claimed")
    }
  }
}

/** The next event of an object is queued while the one before it is settled: it goes on. */
const settlementAndSave: Prepare = function*(f, g) {
  const { app, claimed, subscription } = yield* claimedOf(f, [1])
  const first = yield* f.registration(yield* f.user())
  return {
    contenders: [
      f.deliveryQueue.settle(settled(claimed)),
      g.registrations.save({ ...first, version: 2 }, f.outgoing(app, f.event(1, early))),
      g.deliveryQueue.enqueue(f.outgoing(app, f.event(1, early)))
    ],
    *check() {
      for (const left of [2, 1]) {
        const next = (yield* f.claim(later)).filter((one) => one.subscription.id === subscription.id)
        same(next.length, 1, `what is claimed of ${left} deliveries of one object`)
        yield* f.deliveryQueue.settle(settled(next))
      }
    }
  }
}

const agains: Prepare = function*(f, g) {
  const { app, ...one } = yield* claimedOne(f)
  const ids: Array<number> = []
  const again = (by: Fixture) =>
    Effect.map(by.deliveryQueue.again(one.delivery, at(5)), (found) => {
      ids.push(...Option.toArray(found).map(({ id }) => id))
    })
  return {
    contenders: [again(f), again(g)],
    *check() {
      const [, ...others] = (yield* f.listed(app)).map(({ id }) => Number(id))
      same(others, ids.sort((a, b) => a - b), "deliveries that were made again")
      same(new Set(ids).size, 2, "their identifiers")
    }
  }
}

const purges: Prepare = function*(f, g) {
  const { app, claimed } = yield* claimedOf(f, [1, 2, 3])
  const long = at(-1e9)
  yield* f.deliveryQueue.settle(settled(claimed, { state: "delivered", endedAt: Option.some(long) }))
  let gone = 0
  const purge = (by: Fixture) =>
    Effect.map(by.deliveries.purge(long, 2), (removed) => {
      gone += removed
    })
  return {
    contenders: [purge(f), purge(g)],
    *check() {
      same((yield* f.listed(app)).length + gone, 3, "deliveries that are left or were removed")
      yield* f.deliveries.purge(long, 100)
    }
  }
}

/** By what meets. */
export const races: Readonly<Record<string, Prepare>> = {
  "saves of a grant": savesOf("grant"),
  "first saves of a grant": firstSavesOfGrant,
  "saves of an application": savesOf("application"),
  "saves of a registration": savesOf("registration"),
  "saves of a subscription": savesOf("subscription"),
  "a save and a removal of a subscription": saveAndRemovalOfSubscription,
  "removals of a subscription": removalsOfSubscription,
  "two subscriptions of an application": insertsOfSubscription,
  "a removal of a subscription and the next one": insertAndRemovalOfSubscription,
  "new records": inserts,
  "saves with events and the removal of their subscription": saveAndRemoval,
  "a settlement and a removal": settlementAndRemoval,
  "a claim and a removal": claimAndRemoval,
  "a delivery again and a removal": againAndRemoval,
  "settlements under one claim": settlements,
  "a settlement and the next claim": settlementAndClaim,
  "a settlement and a release": releaseAndSettlement,
  "claims": claims,
  "a settlement and the next events of its object": settlementAndSave,
  "deliveries again": agains,
  "purges": purges
}
