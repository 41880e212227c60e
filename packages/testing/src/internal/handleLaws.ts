/** Laws of two handles over one storage, as two processes have it, and of a storage that is closed and opened again. */
import type { Stores } from "@startlist/core/Stores"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type Law, law, type LawGroup } from "../Law.ts"
import { same } from "./expecting.ts"
import { at, ended, type Fixture, make, settled } from "./fixture.ts"
import { raceLawsOf } from "./raceLaws.ts"
import { type VersionedRecord, versionedRecords } from "./records.ts"
import type { Steps } from "./storeLaw.ts"
import { claimedOf, early } from "./trials.ts"

/** Opens the storage once more; closed with the scope. */
export type Open<R> = Effect.Effect<Context.Context<Stores>, unknown, R | Scope.Scope>

const fixtureOf = <R>(open: Open<R>): Effect.Effect<Fixture, unknown, R | Scope.Scope> =>
  Effect.flatMap(open, (stores) => Effect.provide(make, stores))

const mustFind = function*({ as, finds }: VersionedRecord, by: Fixture, place: number): Steps<void> {
  for (const find of finds(by)) same(yield* find, as(place, place + 1), `a record at version ${place + 1}`)
}

const seen = <R>(open: Open<R>): LawGroup<R> => {
  const handleLaw = (name: string, check: (f: Fixture, g: Fixture) => Steps): Law<R> =>
    law(name, () =>
      Effect.scoped(Effect.gen(function*() {
        const [f, g] = [yield* fixtureOf(open), yield* fixtureOf(open)]
        yield* check(f, g)
      })))
  return {
    about: "two handles",
    laws: [
      ...Object.entries(versionedRecords).map(([name, kind]) =>
        handleLaw(`what one handle saves of one ${name} is found by the other immediately`, function*(f, g) {
          const record = yield* kind(f)
          for (const [place, by] of [f, f, g, f].entries()) {
            if (place > 0) yield* record.save(by, place, place + 1)
            yield* mustFind(record, g, place)
            yield* mustFind(record, f, place)
          }
        })
      ),
      handleLaw(
        "what one handle makes or ends is found so by the other, whatever that one found before",
        function*(f, g) {
          const app = yield* f.application()
          const owner = yield* f.user()
          for (const h of [f, g]) {
            same(yield* h.subscriptions.findByApplication(app.id), Option.none(), "a subscription before it is there")
            same(yield* h.findGrant(app.id, owner.id), Option.none(), "a grant before it is there")
            same(yield* h.grants.listByUser(owner.id), [], "grants before they are there")
          }
          const subscription = yield* f.subscription(app)
          same(yield* g.subscriptions.findByApplication(app.id), subscription, "a subscription of the other handle")
          const grant = yield* f.grant(app, owner)
          same(yield* g.findGrant(app.id, owner.id), grant, "a grant of the other handle")
          same(yield* g.grants.listByUser(owner.id), [grant], "grants of the other handle")
          yield* g.grants.save({ grant: { ...grant, version: 2, status: "revoked" }, outgoing: [] })
          same(yield* f.grants.listByUser(owner.id), [], "grants after a revocation by the other handle")
          same(yield* g.subscriptions.remove(subscription.id, at(1)), true)
          same(yield* f.subscriptions.findByApplication(app.id), Option.none(), "a subscription that the other removed")
        }
      ),
      handleLaw("what one handle settles is found by the other, and a removal cancels the rest", function*(f, g) {
        const { app, claimed, subscription } = yield* claimedOf(f, [1, 2, 3])
        const deliveries = claimed.map(({ delivery }) => delivery)
        for (const h of [f, g]) same(yield* h.listed(app), deliveries, "the deliveries before they are settled")
        const byOther = claimed.map(({ delivery }) => ({ delivery: ended(delivery), token: "another" }))
        same(yield* g.deliveryQueue.settle(byOther), [], "settlements of no claim")
        for (const [place, h] of [f, g].entries()) {
          yield* h.deliveryQueue.settle(settled(claimed.slice(place, place + 1)))
          const expected = deliveries.map((delivery, other) => other <= place ? ended(delivery) : delivery)
          for (const other of [f, g]) {
            same(yield* other.listed(app), expected, "the deliveries")
            for (const one of expected) same(yield* other.deliveries.find(one.id), one, "a delivery")
          }
        }
        yield* g.subscriptions.remove(subscription.id, at(1))
        same((yield* f.listed(app)).map(({ state }) => state), ["delivered", "delivered", "cancelled"])
      }),
      handleLaw("an event is queued and claimed by either handle, once", function*(f, g) {
        const { app, subscription } = yield* f.subscribed
        const mine = (h: Fixture, seconds: number) =>
          Effect.map(
            h.claim({ now: at(seconds), leaseEnds: at(seconds + 15) }),
            (found) => found.filter((one) => one.subscription.id === subscription.id)
          )
        yield* f.queue(app, [f.event(1, early)])
        const first = yield* mine(g, -1000)
        same(yield* mine(f, -999), [], "what is claimed while a lease of the other handle lives")
        same((yield* mine(f, -985)).map(({ claims }) => claims), [2], "claims of one delivery by two handles")
        same(yield* g.deliveryQueue.settle(settled(first)), [])
        yield* g.subscriptions.remove(subscription.id, at(1))
      })
    ]
  }
}

const reopened = <R>(open: Open<R>): LawGroup<R> => ({
  about: "closing and opening",
  laws: [
    law(
      "everything that was saved is there when the storage is opened again, leases and versions too",
      () =>
        Effect.gen(function*() {
          const before = yield* Effect.scoped(Effect.gen(function*() {
            const f = yield* fixtureOf(open)
            const records: Array<VersionedRecord> = []
            for (const kind of Object.values(versionedRecords)) {
              const record = yield* kind(f)
              yield* record.save(f, 1, 2)
              records.push(record)
            }
            const claims = yield* claimedOf(f, [1, 2, 3])
            yield* f.deliveryQueue.settle(settled(claims.claimed.slice(0, 1)))
            yield* f.deliveryQueue.settle(settled(claims.claimed.slice(1, 2), { dueAt: at(40) }))
            return { ...claims, listed: yield* f.listed(claims.app), records }
          }))
          yield* Effect.scoped(Effect.gen(function*() {
            const g = yield* fixtureOf(open)
            for (const record of before.records) {
              yield* mustFind(record, g, 1)
              yield* record.save(g, 2, 3)
              yield* mustFind(record, g, 2)
            }
            same(yield* g.listed(before.app), before.listed, "the deliveries")
            same(yield* g.claim({ now: at(-986), leaseEnds: at(-970) }), [], "what is claimed while leases live")
            const { subscription } = yield* g.subscribed
            same(subscription.id > before.subscription.id, true, "the next identifier is a new one")
            const third = before.claimed.slice(2)
            const settledIds = yield* g.deliveryQueue.settle(settled(third))
            same(settledIds, third.map(({ delivery }) => delivery.id), "a settlement under a claim of before")
          }))
        })
    )
  ]
})

/** The laws of a storage that can be opened several times at once, or, if it is exclusive, once after the other. */
export const handleLaws = <R>(open: Open<R>, isExclusive: boolean): ReadonlyArray<LawGroup<R>> => {
  if (isExclusive) return [reopened(open)]
  return [seen(open), reopened(open)]
}

/** The races of `raceLaws` between two handles. */
export const handleRaces = <R>(open: Open<R>): LawGroup<R> =>
  raceLawsOf(
    "two handles at once",
    (use) => Effect.scoped(Effect.flatMap(Effect.all([fixtureOf(open), fixtureOf(open)]), use))
  )
