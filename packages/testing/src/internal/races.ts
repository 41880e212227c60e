/** Pairs of operations that meet in one record, or in the deliveries of one object, with what must come of them. */
import { Audience } from "@startlist/core/Event"
import type { Grant } from "@startlist/core/Grant"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { count, holds, same } from "./expecting.ts"
import { at, ended, type Fixture, following } from "./fixture.ts"
import { claimedOf, early } from "./trials.ts"

export interface Race {
  readonly contenders: ReadonlyArray<Effect.Effect<unknown, unknown>>
  /** Looks at what came of them. `outcomes` are tags of failures, or "success". */
  readonly check: (outcomes: ReadonlyArray<string>) => Effect.Effect<void, unknown>
}

/** `f` makes the records. The contenders use both: two handles over one storage, or the same one twice. */
export type Prepare = (f: Fixture, g: Fixture) => Effect.Effect<Race, unknown>

const objectsOf = (claimed: ReadonlyArray<{ readonly delivery: { readonly event: { readonly objectId: number } } }>) =>
  claimed.map(({ delivery }) => delivery.event.objectId)

const later = { now: at(-980), leaseEnds: at(-965) }

const isPending = ({ state }: { readonly state: string }): boolean => state === "pending"

const to = (applicationId: Grant["applicationId"]) => Audience.Application({ applicationId })

const savesOfGrant: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app } = yield* f.subscribed
    const first = yield* f.grant(app, yield* f.user())
    const changes = [1, 2, 3].map((place) => ({
      grant: following(first, { generation: place, refresh: Option.some(f.refresh()) }),
      outgoing: [{ event: f.event(place), audience: to(app.id) }]
    }))
    return {
      contenders: changes.map((change, place) => (place === 1 ? g : f).grants.save(change)),
      check: (outcomes) =>
        Effect.gen(function*() {
          same(count(outcomes, "success"), 1, "saves over one version that succeed")
          same(count(outcomes, "Conflict"), 2, "saves over one version that are refused")
          const saved = changes[outcomes.indexOf("success")]
          same(yield* g.grants.find(app.id, first.userId), saved?.grant, "the grant afterwards")
          same((yield* f.listed(app)).map(({ event }) => event.id), saved?.outgoing.map(({ event }) => event.id))
        })
    }
  })

const firstSavesOfGrant: Prepare = (f, g) =>
  Effect.gen(function*() {
    const app = yield* f.application()
    const owner = yield* f.user()
    const all = [1, 2, 3].map(() => f.newGrant(app, owner, { codes: [f.code()] }))
    return {
      contenders: all.map((grant, place) => (place === 1 ? g : f).grants.save({ grant, outgoing: [] })),
      check: (outcomes) =>
        Effect.gen(function*() {
          same(count(outcomes, "success"), 1, "first saves that succeed")
          same(yield* g.grants.find(app.id, owner.id), all[outcomes.indexOf("success")], "the grant afterwards")
        })
    }
  })

const savesOfApplication: Prepare = (f, g) =>
  Effect.gen(function*() {
    const app = yield* f.application()
    const names = ["one", "two", "three"]
    return {
      contenders: names.map((name, place) => (place === 1 ? g : f).applications.save({ ...app, version: 2, name })),
      check: (outcomes) =>
        Effect.gen(function*() {
          same(count(outcomes, "success"), 1, "saves over one version that succeed")
          same(yield* g.applications.find(app.id), { ...app, version: 2, name: names[outcomes.indexOf("success")] })
        })
    }
  })

const savesOfRegistration: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app } = yield* f.subscribed
    const first = yield* f.registration(yield* f.user())
    const all = ["one", "two", "three"].map((comment) => ({
      next: { ...first, version: 2, updates: { ...first.updates, comment } },
      outgoing: [{ event: f.event(first.id), audience: to(app.id) }]
    }))
    return {
      contenders: all.map(({ next, outgoing }, place) => (place === 1 ? g : f).registrations.save(next, outgoing)),
      check: (outcomes) =>
        Effect.gen(function*() {
          same(count(outcomes, "success"), 1, "saves over one version that succeed")
          const saved = all[outcomes.indexOf("success")]
          same(yield* g.registrations.find(first.id), saved?.next, "the registration afterwards")
          same((yield* f.listed(app)).map(({ event }) => event.id), saved?.outgoing.map(({ event }) => event.id))
        })
    }
  })

const savesOfSubscription: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    return {
      contenders: [1, 2, 3].map((seconds, place) =>
        (place === 1 ? g : f).subscriptions.save({ ...subscription, version: 2, updatedAt: at(seconds) })
      ),
      check: (outcomes) =>
        Effect.gen(function*() {
          same(count(outcomes, "success"), 1, "saves over one version that succeed")
          const updatedAt = at(outcomes.indexOf("success") + 1)
          same(yield* g.subscriptions.findByApplication(app.id), { ...subscription, version: 2, updatedAt })
        })
    }
  })

const saveAndRemovalOfSubscription: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    return {
      contenders: [
        f.subscriptions.save({ ...subscription, version: 2, updatedAt: at(1) }),
        g.subscriptions.remove(subscription.id, at(2))
      ],
      check: (outcomes) =>
        Effect.gen(function*() {
          same(outcomes[1], "success", "the removal")
          same(yield* f.subscriptions.findByApplication(app.id), Option.none(), "the subscription afterwards")
          same(yield* g.subscriptions.remove(subscription.id, at(3)), false, "a second removal")
        })
    }
  })

const removalsOfSubscription: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    yield* f.queue(app, [f.event(1)])
    const removed: Array<number> = []
    const remove = (by: Fixture, seconds: number) =>
      Effect.map(by.subscriptions.remove(subscription.id, at(seconds)), (isRemoved) => {
        if (isRemoved) removed.push(seconds)
      })
    return {
      contenders: [remove(f, 1), remove(g, 2)],
      check: () =>
        Effect.gen(function*() {
          same(removed.length, 1, "removals of one subscription that removed it")
          same((yield* f.listed(app)).map(({ endedAt }) => endedAt), removed.map(at), "when its delivery was cancelled")
        })
    }
  })

const insertsOfSubscription: Prepare = (f, g) =>
  Effect.gen(function*() {
    const app = yield* f.application()
    return {
      contenders: [f.subscription(app, "https://a.example.test"), g.subscription(app, "https://b.example.test")],
      check: (outcomes) =>
        Effect.gen(function*() {
          same([...outcomes].sort(), ["AlreadySubscribed", "success"], "two subscriptions of one application")
          const kept = Option.getOrThrow(yield* g.subscriptions.findByApplication(app.id))
          same(kept.callbackUrl, `https://${outcomes[0] === "success" ? "a" : "b"}.example.test`)
        })
    }
  })

const insertAndRemovalOfSubscription: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    return {
      contenders: [f.subscription(app), g.subscriptions.remove(subscription.id, at(1))],
      check: ([insert]) =>
        Effect.gen(function*() {
          const left = yield* f.subscriptions.findByApplication(app.id)
          same(Option.isSome(left), insert === "success", "whether there is a subscription afterwards")
          if (Option.isSome(left)) {
            holds(left.value.id !== subscription.id, "the new subscription has its own identifier")
          }
        })
    }
  })

const inserts: Prepare = (f, g) =>
  Effect.gen(function*() {
    const user = yield* f.user()
    const apps: Array<number> = []
    const registrations: Array<number> = []
    return {
      contenders: [f, g, f].flatMap((h) => [
        Effect.map(h.application(), ({ id }) => apps.push(id)),
        Effect.map(h.registration(user), ({ id }) => registrations.push(id))
      ]),
      check: () =>
        Effect.sync(() => {
          same(new Set(apps).size, 3, "identifiers of three applications")
          same(new Set(registrations).size, 3, "identifiers of three registrations")
        })
    }
  })

/** A save that queues an event for a subscription that is removed: what is queued is cancelled. */
const saveAndRemoval: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    const first = yield* f.registration(yield* f.user())
    const grant = yield* f.grant(app, yield* f.user())
    const outgoing = (object: number) => [{ event: f.event(object), audience: to(app.id) }]
    return {
      contenders: [
        f.registrations.save({ ...first, version: 2 }, outgoing(1)),
        f.grants.save({ grant: following(grant), outgoing: outgoing(2) }),
        f.deliveries.enqueue(outgoing(3)),
        g.subscriptions.remove(subscription.id, at(1))
      ],
      check: (outcomes) =>
        Effect.gen(function*() {
          same(outcomes, ["success", "success", "success", "success"])
          same((yield* f.listed(app)).filter(isPending), [], "what is pending for a removed subscription")
        })
    }
  })

const settlementAndRemoval: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, claimed, subscription } = yield* claimedOf(f, [1, 2])
    yield* f.queue(app, [f.event(1)])
    let settled: ReadonlyArray<number> = []
    return {
      contenders: [
        Effect.map(
          f.deliveries.settle(claimed.map(({ delivery, token }) => ({ delivery: ended(delivery), token }))),
          (ids) => {
            settled = ids
          }
        ),
        g.subscriptions.remove(subscription.id, at(1))
      ],
      check: () =>
        Effect.gen(function*() {
          const expected = claimed.map(({ delivery }) => settled.includes(delivery.id) ? "delivered" : "cancelled")
          same(
            (yield* f.listed(app)).map(({ state }) => state),
            [...expected, "cancelled"],
            "the deliveries afterwards"
          )
        })
    }
  })

const claimAndRemoval: Prepare = (f, g) =>
  Effect.gen(function*() {
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
      check: () =>
        Effect.gen(function*() {
          same((yield* f.listed(app)).map(({ state }) => state), ["cancelled", "cancelled"])
          const late = yield* f.deliveries.settle(claims.map(({ delivery, token }) => ({
            delivery: ended(delivery),
            token
          })))
          same(late, [], "settlements after the removal")
        })
    }
  })

const againAndRemoval: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, claimed, subscription } = yield* claimedOf(f, [1])
    const [one] = claimed
    if (one === undefined) return yield* Effect.dieMessage("nothing was claimed")
    yield* f.deliveries.settle([{ delivery: ended(one.delivery), token: one.token }])
    let isQueued = false
    return {
      contenders: [
        Effect.map(f.deliveries.again(one.delivery, at(5)), (again) => {
          isQueued = Option.isSome(again)
        }),
        g.subscriptions.remove(subscription.id, at(1))
      ],
      check: () =>
        Effect.gen(function*() {
          const expected = isQueued ? ["delivered", "cancelled"] : ["delivered"]
          same((yield* f.listed(app)).map(({ state }) => state), expected, "the deliveries afterwards")
        })
    }
  })

/** Two settlements under one claim: one is recorded. */
const settlements: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { claimed } = yield* claimedOf(f, [1])
    const [one] = claimed
    if (one === undefined) return yield* Effect.dieMessage("nothing was claimed")
    const endings = [ended(one.delivery), ended(one.delivery, "exhausted"), { ...one.delivery, dueAt: at(70) }]
    const recorded: Array<number> = []
    return {
      contenders: endings.map((delivery, place) =>
        Effect.map((place === 1 ? g : f).deliveries.settle([{ delivery, token: one.token }]), (ids) => {
          if (ids.length > 0) recorded.push(place)
        })
      ),
      check: () =>
        Effect.gen(function*() {
          same(recorded.length, 1, "settlements under one claim that are recorded")
          same(yield* g.deliveries.find(one.delivery.id), endings[recorded[0] ?? 0], "the delivery afterwards")
        })
    }
  })

/** A worker is late: another one claims what it settles. */
const settlementAndClaim: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, claimed } = yield* claimedOf(f, [1])
    const [one] = claimed
    if (one === undefined) return yield* Effect.dieMessage("nothing was claimed")
    let [isSettled, isClaimed] = [false, false]
    return {
      contenders: [
        Effect.map(f.deliveries.settle([{ delivery: ended(one.delivery), token: one.token }]), (ids) => {
          isSettled = ids.length > 0
        }),
        Effect.map(g.claim(later), (found) => {
          isClaimed = found.some(({ delivery }) => delivery.id === one.delivery.id)
        })
      ],
      check: () =>
        Effect.gen(function*() {
          holds(isSettled !== isClaimed, `settled: ${isSettled}, claimed by another worker: ${isClaimed}`)
          same((yield* f.listed(app)).map(({ state }) => state), [isSettled ? "delivered" : "pending"])
        })
    }
  })

const releaseAndSettlement: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { claimed } = yield* claimedOf(f, [1])
    const [one] = claimed
    if (one === undefined) return yield* Effect.dieMessage("nothing was claimed")
    const recorded: Array<string> = []
    const note = (what: string) => (ids: ReadonlyArray<number>) => {
      if (ids.length > 0) recorded.push(what)
    }
    return {
      contenders: [
        Effect.map(f.deliveries.settle([{ delivery: ended(one.delivery), token: one.token }]), note("delivered")),
        Effect.map(g.deliveries.release([one], at(70)), note("pending"))
      ],
      check: () =>
        Effect.gen(function*() {
          same(recorded.length, 1, "what is recorded of a settlement and a release")
          same(Option.map(yield* g.deliveries.find(one.delivery.id), ({ state }) => state), recorded[0])
        })
    }
  })

const claims: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    yield* f.queue(app, [1, 2, 3, 1, 2].map((object) => f.event(object, early)))
    const all: Array<number> = []
    const claim = (by: Fixture) =>
      Effect.map(by.claim({ now: early, leaseEnds: at(-985), limit: 2 }), (found) => {
        all.push(...objectsOf(found.filter((one) => one.subscription.id === subscription.id)))
      })
    return {
      contenders: [claim(f), claim(g), claim(f)],
      check: () => Effect.sync(() => same(all.sort((a, b) => a - b), [1, 2, 3], "objects that were claimed"))
    }
  })

/** The next event of an object is queued while the one before it is settled: it goes on. */
const settlementAndSave: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, claimed, subscription } = yield* claimedOf(f, [1])
    const first = yield* f.registration(yield* f.user())
    return {
      contenders: [
        f.deliveries.settle(claimed.map(({ delivery, token }) => ({ delivery: ended(delivery), token }))),
        g.registrations.save({ ...first, version: 2 }, [{ event: f.event(1, early), audience: to(app.id) }]),
        g.deliveries.enqueue([{ event: f.event(1, early), audience: to(app.id) }])
      ],
      check: () =>
        Effect.gen(function*() {
          for (const left of [2, 1]) {
            const next = (yield* f.claim(later)).filter((one) => one.subscription.id === subscription.id)
            same(next.length, 1, `what is claimed of ${left} deliveries of one object`)
            yield* f.deliveries.settle(next.map(({ delivery, token }) => ({ delivery: ended(delivery), token })))
          }
        })
    }
  })

const agains: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, claimed } = yield* claimedOf(f, [1])
    const [one] = claimed
    if (one === undefined) return yield* Effect.dieMessage("nothing was claimed")
    const ids: Array<number> = []
    const again = (by: Fixture) =>
      Effect.map(by.deliveries.again(one.delivery, at(5)), (found) => {
        ids.push(...Option.toArray(found).map(({ id }) => id))
      })
    return {
      contenders: [again(f), again(g)],
      check: () =>
        Effect.gen(function*() {
          const [, ...others] = (yield* f.listed(app)).map(({ id }) => Number(id))
          same(others, ids.sort((a, b) => a - b), "deliveries that were made again")
          same(new Set(ids).size, 2, "their identifiers")
        })
    }
  })

const purges: Prepare = (f, g) =>
  Effect.gen(function*() {
    const { app, claimed } = yield* claimedOf(f, [1, 2, 3])
    const long = at(-1e9)
    yield* f.deliveries.settle(claimed.map(({ delivery, token }) => ({
      delivery: ended(delivery, "delivered", long),
      token
    })))
    let gone = 0
    const purge = (by: Fixture) =>
      Effect.map(by.deliveries.purge(long, 2), (removed) => {
        gone += removed
      })
    return {
      contenders: [purge(f), purge(g)],
      check: () =>
        Effect.gen(function*() {
          same((yield* f.listed(app)).length + gone, 3, "deliveries that are left or were removed")
          yield* f.deliveries.purge(long, 100)
        })
    }
  })

/** By what meets. */
export const races: Readonly<Record<string, Prepare>> = {
  "saves of a grant": savesOfGrant,
  "first saves of a grant": firstSavesOfGrant,
  "saves of an application": savesOfApplication,
  "saves of a registration": savesOfRegistration,
  "saves of a subscription": savesOfSubscription,
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
