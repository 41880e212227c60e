/** Scenes of deliveries: the queue, its pages and its backlog, and a person who is erased with deliveries. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Subscription } from "@startlist/core/Subscription"
import { RegistrationId } from "@startlist/core/Registration"
import type { Delivery } from "@startlist/core/Delivery"
import { maxId } from "@startlist/core/Store"
import { sorted } from "./expecting.ts"
import { at, early, type Fixture, following, long, objectsOf, settled } from "./fixture.ts"
import { type Run, type Scene, subscribed } from "./recordScenes.ts"

/** Claims of these subscriptions. */
export const claimsOf = (...subscriptions: ReadonlyArray<Subscription>) => {
  const ids = new Set(subscriptions.map(({ id }) => id))
  const claim = (by: Fixture, seconds: number) =>
    Effect.map(by.claimAt(seconds), (all) => all.filter(({ subscription: { id } }) => ids.has(id)))
  const rest = (by: Fixture) =>
    Effect.gen(function*() {
      const all: Array<readonly [object: number, claims: number]> = []
      for (let round = 0; round < 6; round++) {
        const claimed = yield* claim(by, -900 + 20 * round)
        if (claimed.length === 0) break
        all.push(...claimed.map(({ claims, delivery }) => [delivery.event.objectId, claims] as const))
        yield* by.settle(claimed)
      }
      return all.sort(([a, m], [b, n]) => a - b || m - n)
    })
  return { claim, rest }
}

/**
 * Deliveries of an application: two are claimed, those before and after them have ended, one waits for its predecessor, and
 * one is due. One of another application is claimed.
 */
export const queue = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, operations, parts, subscription } = yield* subscribed(f)
    const other = yield* f.subscribed
    const { claim, rest } = claimsOf(subscription, other.subscription)
    yield* f.enqueue(app, f.events([6, 1, 2, 3], early))
    yield* f.enqueue(other.app, f.events([5], early))
    const [first, one, two, three, four] = yield* claim(f, -1000)
    if (!first || !one || !two || !three || !four) {
      return yield* Effect.dieMessage("five deliveries are due, but fewer were claimed")
    }
    yield* f.settle([first, three], { state: "delivered", endedAt: Option.some(long) })
    yield* f.enqueue(app, f.events([1, 4], early))

    // The results of all claims and purges together: any of them may get a delivery.
    const claimed: Array<number> = []
    let purged = 0
    const claims: Array<Run> = []
    const claimAt = (seconds: number) => (by: Fixture) => {
      const once = Effect.map(claim(by, seconds), (found) => void claimed.push(...objectsOf(found)))
      return Effect.zipRight(Effect.sync(() => claims.push(once)), once)
    }
    const outcome = (n: number) => {
      const attempt = { at: at(n), durationMs: n, outcome: "rejected", status: Option.some(500), detail: "" } as const
      const attempts = [attempt]
      if (n === 3) return { attempts, dueAt: at(-960) }
      return { attempts, state: n === 1 ? "delivered" : "exhausted", endedAt: Option.some(at(n)) } as const
    }
    const sizeOf = Effect.map((ids: ReadonlyArray<unknown>) => ids.length)
    return {
      app,
      rest,
      claimAgain: Effect.suspend(() => Effect.all(claims)),
      operations: {
        ...operations,
        "a settlement": (by: Fixture, n: number) => sizeOf(by.settle([one], outcome(n))),
        "a settlement that is tried again": (by: Fixture) => sizeOf(by.settle([one], outcome(3))),
        "a settlement of a later delivery": (by: Fixture, n: number) => sizeOf(by.settle([two], outcome(n))),
        "settling several deliveries": (by: Fixture, n: number) =>
          sizeOf(by.deliveryQueue.settle([...settled([one, four], outcome(n)), ...settled([two], outcome(4 - n))])),
        "a release": (by: Fixture) => sizeOf(by.deliveryQueue.release([one], at(-960))),
        "releasing several claims": (by: Fixture) => sizeOf(by.deliveryQueue.release([one, two, four], at(-960))),
        "a claim": claimAt(-999),
        "a claim after the leases": claimAt(-980),
        "a delivery again": (by: Fixture, n: number) =>
          Effect.map(by.deliveryQueue.again(three.delivery, at(n - 970)), Option.isSome),
        // Of all that are pending.
        "a cancellation": (by: Fixture, n: number) => by.deliveryQueue.cancel(app.id, at(n), 4),
        "the next events of an object": (by: Fixture, n: number) =>
          Effect.asVoid(by.enqueue(app, [f.event(1, early), f.event(n + 10, early)])),
        "a purge": (by: Fixture) =>
          Effect.map(by.deliveries.purge(long, 100), (count) => {
            purged += count
          })
      },
      parts: (by: Fixture) => ({
        ...parts(by),
        log: by.deliveries.log({ applicationId: app.id, after: 0, limit: 100 }),
        "a delivery": by.deliveries.find(one.delivery.id),
        "another delivery": by.deliveries.find(two.delivery.id),
        "deliveries of another application": by.listed(other.app),
        "what was claimed": Effect.sync(() => sorted(claimed)),
        "what was purged": Effect.sync(() => purged)
      })
    } satisfies Scene & { readonly app: unknown }
  })

/** The same deliveries, by the pages of lists and of the log. The page of the log begins with the first that changes. */
export const pages = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, operations, rest } = yield* queue(f)
    const log = (by: Fixture, after: number) => by.deliveries.log({ applicationId: app.id, after, limit: 100 })
    const [ended] = yield* log(f, 0)
    return {
      rest,
      operations,
      parts: (by) => ({
        log: log(by, ended?.position ?? 0),
        ...Object.fromEntries((["pending", "delivered"] as const).map((state) => [
          `${state} deliveries`,
          by.deliveries.list({
            applicationId: Option.some(app.id),
            state: Option.some(state),
            after: Option.none(),
            limit: 100
          })
        ]))
      })
    } satisfies Scene
  })

/** Deliveries of an application, more than a store may write in one batch. A third has ended, the others are claimed. */
export const backlog = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, operations, parts, subscription } = yield* subscribed(f)
    const { claim } = claimsOf(subscription)
    const objects = Arr.range(1, 120)
    yield* f.enqueue(app, f.events(objects, early))
    const [some, claimed] = Arr.splitAt(yield* claim(f, -1000), 40)
    const ends = (["delivered", "exhausted", "set_aside"] as const).map((state, place) =>
      settled(some.filter((_, index) => index % 3 === place), { state, endedAt: Option.some(long) })
    )
    yield* f.deliveryQueue.settle(ends.flat())
    return {
      // It would take longer than everything else.
      rest: () => Effect.void,
      operations: {
        ...operations,
        "a cancellation": (by: Fixture, n: number) => by.deliveryQueue.cancel(app.id, at(n), 1000),
        "a purge": (by: Fixture) => Effect.asVoid(by.deliveries.purge(long, 1000)),
        "settling all deliveries": (by: Fixture) => Effect.asVoid(by.settle(claimed)),
        "enqueueing many events": (by: Fixture) => Effect.asVoid(by.enqueue(app, f.events(objects, early)))
      },
      parts: (by: Fixture) => ({
        ...parts(by),
        deliveries: Effect.map(by.listed(app), (found) => found.map(({ state }) => state))
      })
    } satisfies Scene
  })

/** Six fields with this text. */
export const updatesOf = (text: string) => ({
  platform_id: text,
  registration_status: text,
  document_type: text,
  document_status: text,
  reasons: [text, text],
  comment: text
})

/**
 * A person with grants to two applications and a revoked one, a registration, and one that the embedding server stores
 * itself. The events about both are pending, and one is claimed. Another user has all of this, too.
 */
export const person = (f: Fixture) =>
  Effect.gen(function*() {
    const [one, two] = [yield* f.subscribed, yield* f.subscribed]
    const [third, fourth] = [yield* f.application(), yield* f.application()]
    const [owner, other] = [yield* f.user(), yield* f.user()]
    const grants = yield* Effect.forEach([one, two], ({ app }) => f.grant(app, owner, { codes: [f.code()] }))
    const revoked = yield* f.grant(fourth, owner, { status: "revoked" })
    yield* f.grant(one.app, other)
    const updates = updatesOf(f.name("text"))
    const registration = yield* f.registration(owner, { updates })
    const kept = yield* f.registration(other, { updates })
    const own = RegistrationId.make(maxId - registration.id)
    // Their numbers depend on the scene.
    const known: ReadonlyArray<number> = [owner.id, registration.id, own, kept.id]
    const { claim, rest } = claimsOf(one.subscription, two.subscription)
    yield* f.enqueue(one.app, [registration.id, own, kept.id].map((object) => f.event(object, early, { updates })))
    const claimed = yield* claim(f, -1000)
    yield* f.enqueue(two.app, [registration.id, kept.id].map((object) => f.event(object, early, { updates })))
    const [attempted] = claimed
    if (attempted === undefined) return yield* Effect.dieMessage("a delivery is due, but none was claimed")
    /** By object: the order of events about different objects is not promised. */
    const shown = (all: ReadonlyArray<Delivery>) =>
      all.map(({ event, ...delivery }) => ({
        ...delivery,
        event: { ...event, objectId: known.indexOf(event.objectId) }
      })).sort((a, b) => a.event.objectId - b.event.objectId)
    const attempts = [
      { at: early, durationMs: 1, outcome: "rejected", status: Option.some(500), detail: "no" } as const
    ]
    const operations = {
      "an erasure": (by: Fixture, n: number) =>
        by.persons.erase({
          userId: owner.id,
          at: at(n),
          registrationIds: [own],
          revocations: grants.map((grant, place) => ({
            grant: following(grant, { status: "revoked", codes: [] }),
            outgoing: f.outgoing(
              place === 0 ? one.app : two.app,
              f.event(owner.id, early, { aspectType: "deleted", objectType: "athlete", updates: {} })
            )
          }))
        }),
      "a first grant": (by: Fixture) => Effect.asVoid(by.grant(third, owner)),
      "a consent": (by: Fixture, n: number) =>
        Effect.forEach(
          grants.slice(0, 1),
          (grant) => by.grants.save({ grant: following(grant, { generation: n }), outgoing: [] }),
          { discard: true }
        ),
      "a consent after a revocation": (by: Fixture) =>
        by.grants.save({ grant: following(revoked, { status: "active" }), outgoing: [] }),
      "an insertion of a registration": (by: Fixture) => Effect.asVoid(by.registration(owner, { updates })),
      "a save of a registration": (by: Fixture) =>
        Effect.asVoid(by.registrations.save(
          { ...registration, version: 2 },
          f.outgoing(one.app, f.event(registration.id, early, { updates }))
        )),
      "a delivery again": (by: Fixture) => Effect.map(by.deliveryQueue.again(attempted.delivery, early), Option.isSome),
      "a settlement": (by: Fixture) =>
        Effect.map(by.settle([attempted], { attempts, dueAt: early }), (ids) => ids.length)
    }
    return {
      operations,
      rest: (by: Fixture) =>
        Effect.map(rest(by), (all) => all.map(([object, claims]) => [known.indexOf(object), claims])),
      parts: (by: Fixture) => ({
        "is erased": by.persons.isErased(owner.id),
        "other is erased": by.persons.isErased(other.id),
        "first grant": by.findGrant(one.app.id, owner.id),
        "second grant": by.findGrant(two.app.id, owner.id),
        "later grant": by.findGrant(third.id, owner.id),
        "revoked grant": by.findGrant(fourth.id, owner.id),
        "grants of the user": by.grants.listByUser(owner.id),
        "number of grants of the application": Effect.map(
          by.grants.listByApplication(one.app.id, 9),
          (all) => all.length
        ),
        registrations: by.persons.registrations(owner.id),
        registration: by.registrations.find(registration.id),
        "kept registrations": by.persons.registrations(other.id),
        deliveries: Effect.map(by.listed(one.app), shown),
        "deliveries of another application": Effect.map(by.listed(two.app), shown),
        log: Effect.map(
          by.deliveries.log({ applicationId: one.app.id, after: 0, limit: 100 }),
          (all) => shown(all.map(({ delivery }) => delivery))
        )
      })
    } satisfies Scene
  })
