/** Laws of two handles over one storage, as two processes have it, and of a storage that is closed and opened again. */
import { Delivery } from "@startlist/core/Delivery"
import type { Stores } from "@startlist/core/Stores"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { law, type LawGroup } from "../Law.ts"
import { same } from "./expecting.ts"
import { at, ended, type Fixture, following, make, only } from "./fixture.ts"
import { raceLawsOf } from "./raceLaws.ts"
import { claimedOf, early } from "./trials.ts"

/** Opens the storage once more; closed with the scope. */
export type Open<R> = Effect.Effect<Context.Context<Stores>, unknown, R | Scope.Scope>

const fixtureOf = <R>(open: Open<R>): Effect.Effect<Fixture, unknown, R | Scope.Scope> =>
  Effect.flatMap(open, (stores) => Effect.provide(make, stores))

/** Some of everything, and what a find of each must give. */
const everything = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, claimed, subscription } = yield* claimedOf(f, [1, 2, 3])
    const owner = yield* f.user()
    const grant = yield* f.grant(app, owner, { codes: [f.code()], refresh: Option.some(f.refresh()) })
    const registration = yield* f.registration(owner)
    const [one, two] = claimed
    if (one === undefined || two === undefined) return yield* Effect.dieMessage("too few were claimed")
    const done = ended(one.delivery)
    const failed = Delivery.make({ ...two.delivery, dueAt: at(40) })
    yield* f.deliveries.settle([{ delivery: done, token: one.token }, { delivery: failed, token: two.token }])
    return { app, claimed, done, failed, grant, owner, registration, subscription }
  })

const mustFind = (g: Fixture, { app, done, failed, grant, owner, registration, subscription }: Everything) =>
  Effect.gen(function*() {
    same(yield* g.applications.find(app.id), app, "the application")
    same(yield* g.applications.list({ owner: Option.some(app.ownerId), after: Option.none(), limit: 9 }), [app])
    same(yield* g.grants.find(app.id, owner.id), grant, "the grant")
    same(yield* g.grants.listByUser(owner.id), [grant], "the user's grants")
    same(yield* g.registrations.find(registration.id), registration, "the registration")
    same(yield* g.subscriptions.findByApplication(app.id), subscription, "the subscription")
    same(yield* g.deliveries.find(done.id), done, "a delivery that has ended")
    same((yield* g.listed(app)).slice(0, 2), [done, failed], "the deliveries")
  })

type Everything = Effect.Effect.Success<ReturnType<typeof everything>>

/** Changes each of them by this handle. */
const changed = (f: Fixture, all: Everything) =>
  Effect.gen(function*() {
    const app = { ...all.app, version: 2, name: "changed" }
    yield* f.applications.save(app)
    const grant = following(all.grant, { generation: 7, codes: [] })
    yield* f.grants.save(only(grant))
    const comment = "changed"
    const registration = { ...all.registration, version: 2, updates: { ...all.registration.updates, comment } }
    yield* f.registrations.save(registration, [])
    const subscription = { ...all.subscription, version: 2, updatedAt: at(9) }
    yield* f.subscriptions.save(subscription)
    return { ...all, app, grant, registration, subscription }
  })

const tokenOf = (all: Everything): string => all.claimed[2]?.token ?? ""

const seen = <R>(open: Open<R>): LawGroup<R> => ({
  about: "two handles",
  laws: [
    law(
      "what one handle saves is found by the other at once, whatever that one has found before",
      () =>
        Effect.scoped(Effect.gen(function*() {
          const [f, g] = [yield* fixtureOf(open), yield* fixtureOf(open)]
          const silent = yield* f.application()
          const stranger = yield* f.user()
          for (const h of [f, g]) {
            same(
              yield* h.subscriptions.findByApplication(silent.id),
              Option.none(),
              "a subscription before it is there"
            )
            same(yield* h.grants.find(silent.id, stranger.id), Option.none(), "a grant before it is there")
            same(yield* h.grants.listByUser(stranger.id), [], "grants before they are there")
          }
          const first = yield* f.subscription(silent)
          const granted = yield* f.grant(silent, stranger)
          same(yield* g.subscriptions.findByApplication(silent.id), first, "a subscription of the other handle")
          same(yield* g.grants.find(silent.id, stranger.id), granted, "a grant of the other handle")
          same(yield* g.grants.listByUser(stranger.id), [granted], "grants of the other handle")
          let all = yield* everything(f)
          yield* mustFind(g, all)
          yield* mustFind(f, all)
          all = yield* changed(f, all)
          yield* mustFind(g, all)
          yield* mustFind(f, all)
          const { app, claimed, grant, owner, subscription } = all
          yield* g.grants.save(only(following(grant, { status: "revoked" })))
          same(yield* f.grants.listByUser(owner.id), [], "grants of the user after a revocation by the other handle")
          const third = claimed[2]
          if (third === undefined) return yield* Effect.dieMessage("too few were claimed")
          same(yield* g.deliveries.settle([{ delivery: ended(third.delivery), token: "another" }]), [])
          same(yield* g.deliveries.settle([{ delivery: ended(third.delivery), token: tokenOf(all) }]), [
            third.delivery.id
          ])
          same(yield* f.deliveries.find(third.delivery.id), ended(third.delivery))
          same(yield* g.subscriptions.remove(subscription.id, at(1)), true)
          same(yield* f.subscriptions.findByApplication(app.id), Option.none())
          same((yield* f.listed(app)).map(({ state }) => state), ["delivered", "cancelled", "delivered"])
        }))
    ),
    law("an event is queued and claimed by either handle, once", () =>
      Effect.scoped(Effect.gen(function*() {
        const [f, g] = [yield* fixtureOf(open), yield* fixtureOf(open)]
        const { app, subscription } = yield* f.subscribed
        const mine = (h: Fixture, seconds: number) =>
          Effect.map(h.claim({ now: at(seconds), leaseEnds: at(seconds + 15) }), (found) =>
            found.filter((one) => one.subscription.id === subscription.id))
        yield* f.queue(app, [f.event(1, early)])
        const [first] = yield* mine(g, -1000)
        same(yield* mine(f, -999), [], "what is claimed while a lease of the other handle lives")
        const [second] = yield* mine(f, -985)
        same(second?.claims, 2, "claims of one delivery by two handles")
        same(yield* g.deliveries.settle(first ? [{ delivery: ended(first.delivery), token: first.token }] : []), [])
        yield* g.subscriptions.remove(subscription.id, at(1))
      }))),
    law("records that two handles insert have different identifiers", () =>
      Effect.scoped(Effect.gen(function*() {
        const handles = [yield* fixtureOf(open), yield* fixtureOf(open)]
        const ids: Record<string, Array<number>> = {
          applications: [],
          registrations: [],
          subscriptions: [],
          deliveries: []
        }
        for (let round = 0; round < 3; round++) {
          for (const h of handles) {
            const { app, subscription } = yield* h.subscribed
            yield* h.queue(app, [h.event(1)])
            ids["applications"]?.push(app.id)
            ids["subscriptions"]?.push(subscription.id)
            ids["registrations"]?.push((yield* h.registration(yield* h.user())).id)
            ids["deliveries"]?.push(...(yield* h.listed(app)).map(({ id }) => id))
          }
        }
        same(
          Object.entries(ids).map(([name, all]) => [name, new Set(all).size]),
          Object.keys(ids).map((name) => [name, 6])
        )
      })))
  ]
})

const reopened = <R>(open: Open<R>): LawGroup<R> => ({
  about: "closing and opening",
  laws: [
    law(
      "everything that was saved is there when the storage is opened again, leases and versions too",
      () =>
        Effect.gen(function*() {
          const all = yield* Effect.scoped(Effect.gen(function*() {
            const f = yield* fixtureOf(open)
            return yield* changed(f, yield* everything(f))
          }))
          yield* Effect.scoped(Effect.gen(function*() {
            const g = yield* fixtureOf(open)
            yield* mustFind(g, all)
            same(yield* g.claim({ now: at(-986), leaseEnds: at(-970) }), [], "what is claimed while leases live")
            const { subscription } = yield* g.subscribed
            same(subscription.id > all.subscription.id, true, "the next identifier is a new one")
            const third = all.claimed[2]
            if (third === undefined) return
            const settled = yield* g.deliveries.settle([{ delivery: ended(third.delivery), token: tokenOf(all) }])
            same(settled, [third.delivery.id], "a settlement under a claim of before")
            yield* g.grants.save(only(following(all.grant)))
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
