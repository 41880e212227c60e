/** Operations that write more than one thing, each with what can be seen of it. */
import * as AccessTokens from "@startlist/core/AccessTokens"
import type { Application } from "@startlist/core/Application"
import { Audience } from "@startlist/core/Event"
import type { Grant } from "@startlist/core/Grant"
import type { StoreError } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { at, ended, type Fixture, following } from "./fixture.ts"
import type { Steps } from "./storeLaw.ts"

/** An operation on records of its own, and for each thing that it writes whether that is there. */
export interface Trial {
  readonly operation: Effect.Effect<unknown, unknown>
  readonly parts: ReadonlyArray<Effect.Effect<boolean, StoreError>>
}

export type Prepare = (f: Fixture) => Steps<Trial>

/** Before all that other trials have queued: nothing else is due then. */
export const early = at(-1000)

/** An application whose deliveries of these objects are claimed. */
export const claimedOf = (f: Fixture, objects: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    yield* f.queue(app, objects.map((object) => f.event(object, early)))
    const claimed = (yield* f.claim({ now: early, leaseEnds: at(-985) })).filter((one) =>
      one.subscription.id === subscription.id
    )
    if (claimed.length !== objects.length) return yield* Effect.dieMessage(`${claimed.length} deliveries were claimed`)
    return { app, subscription, claimed }
  })

/** An application with one claimed delivery. */
export const claimedOne = (f: Fixture) =>
  Effect.flatMap(
    claimedOf(f, [1]),
    ({ app, claimed, subscription }) =>
      Effect.map(Effect.fromNullable(claimed[0]), (one) => ({ ...one, app, subscription }))
  )

/** Whether as many deliveries of each application are queued. */
const queued = (f: Fixture, count: number, ...apps: ReadonlyArray<Application>) =>
  apps.map((app) => Effect.map(f.listed(app), ({ length }) => length >= count))

const saveOfGrant: Prepare = function*(f) {
  const { app } = yield* f.subscribed
  const first = yield* f.grant(app, yield* f.user())
  const grant = following(first, {
    scope: ["profile:write"],
    access: AccessTokens.fromArray([f.access()]),
    codes: [f.code()],
    refresh: Option.some(f.refresh())
  })
  const saved = (isSaved: (grant: Grant) => boolean) =>
    Effect.map(f.findGrant(app.id, first.userId), Option.exists(isSaved))
  return {
    operation: f.grants.save({ grant, outgoing: f.outgoing(app, f.event(1), f.event(2)) }),
    parts: [
      saved(({ version }) => version === 2),
      saved(({ scope }) => scope[0] === "profile:write"),
      saved(({ codes }) => codes.length === 1),
      saved(({ access }) => access !== AccessTokens.none),
      saved(({ refresh }) => Option.isSome(refresh)),
      Effect.map(f.grants.listByUser(first.userId), ([listed]) => listed?.version === 2),
      ...queued(f, 1, app),
      ...queued(f, 2, app)
    ]
  }
}

const revocation: Prepare = function*(f) {
  const { app } = yield* f.subscribed
  const owner = yield* f.user()
  const first = yield* f.grant(app, owner, { codes: [f.code()], refresh: Option.some(f.refresh()) })
  const event = f.event(owner.id, at(3), { aspectType: "deleted", objectType: "athlete", updates: {} })
  const revoked = (isSaved: (grant: Grant) => boolean) =>
    Effect.map(f.findGrant(app.id, first.userId), Option.exists(isSaved))
  return {
    operation: f.grants.save({
      grant: following(first, { status: "revoked", codes: [], refresh: Option.none() }),
      outgoing: f.outgoing(app, event)
    }),
    parts: [
      revoked(({ status }) => status === "revoked"),
      revoked(({ codes }) => codes.length === 0),
      revoked(({ refresh }) => Option.isNone(refresh)),
      Effect.map(f.grants.listByUser(owner.id), (listed) => listed.length === 0),
      ...queued(f, 1, app)
    ]
  }
}

const firstSaveOfGrant: Prepare = function*(f) {
  const { app } = yield* f.subscribed
  const grant = f.newGrant(app, yield* f.user(), { codes: [f.code()] })
  return {
    operation: f.grants.save({ grant, outgoing: f.outgoing(app, f.event(1)) }),
    parts: [
      Effect.map(f.findGrant(app.id, grant.userId), Option.isSome),
      Effect.map(f.findGrant(app.id, grant.userId), Option.exists(({ codes }) => codes.length === 1)),
      ...queued(f, 1, app)
    ]
  }
}

const saveOfRegistration: Prepare = function*(f) {
  const apps = [(yield* f.subscribed).app, (yield* f.subscribed).app]
  const registration = yield* f.registration(yield* f.user())
  const next = { ...registration, version: 2, updates: { ...registration.updates, comment: "saved" } }
  const outgoing = apps.flatMap((app) => f.outgoing(app, f.event(registration.id)))
  const found = f.registrations.find(registration.id)
  return {
    operation: f.registrations.save(next, outgoing),
    parts: [
      Effect.map(found, Option.exists(({ version }) => version === 2)),
      Effect.map(found, Option.exists(({ updates }) => updates.comment === "saved")),
      ...queued(f, 1, ...apps)
    ]
  }
}

/** A change for all applications with a grant of the athlete. */
const changeOfAthlete: Prepare = function*(f) {
  const owner = yield* f.user()
  const apps = [(yield* f.subscribed).app, (yield* f.subscribed).app]
  for (const app of apps) yield* f.grant(app, owner)
  const registration = yield* f.registration(owner)
  const event = f.event(registration.id)
  return {
    operation: f.registrations.save({ ...registration, version: 2 }, [{
      event,
      audience: Audience.GrantedBy({ userIds: [owner.id] })
    }]),
    parts: [
      Effect.map(f.registrations.find(registration.id), Option.exists(({ version }) => version === 2)),
      ...queued(f, 1, ...apps)
    ]
  }
}

const removal: Prepare = function*(f) {
  const { app, claimed, subscription } = yield* claimedOf(f, [1, 2])
  yield* f.queue(app, [f.event(1), f.event(3)])
  const isCancelled = (place: number) =>
    Effect.map(
      f.listed(app),
      (queued) => queued[place]?.state === "cancelled" && Option.isSome(queued[place].endedAt)
    )
  return {
    operation: f.subscriptions.remove(subscription.id, at(1)),
    parts: [
      Effect.map(f.subscriptions.findByApplication(app.id), Option.isNone),
      ...[0, 1, 2, 3].map(isCancelled),
      ...claimed.map(({ delivery }) =>
        Effect.map(f.deliveries.find(delivery.id), Option.exists(({ state }) => state === "cancelled"))
      )
    ]
  }
}

const enqueueing: Prepare = function*(f) {
  const apps = [(yield* f.subscribed).app, (yield* f.subscribed).app]
  const outgoing = [...apps, ...apps].flatMap((app, place) => f.outgoing(app, f.event(place + 1)))
  return {
    operation: f.deliveryQueue.enqueue(outgoing),
    parts: apps.flatMap((app) => [1, 2].map((least) => Effect.map(f.listed(app), (queued) => queued.length >= least)))
  }
}

const settlement: Prepare = function*(f) {
  const { app, claimed } = yield* claimedOf(f, [1, 2, 3])
  const attempt = { at: at(1), durationMs: 3, outcome: "delivered", status: Option.some(200), detail: "" } as const
  const found = claimed.map(({ delivery }) => f.deliveries.find(delivery.id))
  return {
    operation: f.deliveryQueue.settle(claimed.map(({ delivery, token }) => ({
      delivery: { ...ended(delivery), attempts: [attempt] },
      token
    }))),
    parts: [
      ...found.map(Effect.map(Option.exists(({ state }) => state === "delivered"))),
      ...found.map(Effect.map(Option.exists(({ endedAt }) => Option.isSome(endedAt)))),
      ...found.map(Effect.map(Option.exists(({ attempts }) => attempts.length === 1))),
      ...claimed.map((_, place) => Effect.map(f.listed(app), (queued) => queued[place]?.state === "delivered"))
    ]
  }
}

/** A retry: the delivery is due later, and its claim is over. */
const releasing: Prepare = function*(f) {
  const { claimed } = yield* claimedOf(f, [1, 2])
  return {
    operation: f.deliveryQueue.release(claimed, at(50)),
    parts: claimed.map(({ delivery }) =>
      Effect.map(
        f.deliveries.find(delivery.id),
        Option.exists(({ dueAt }) => dueAt.epochMillis === at(50).epochMillis)
      )
    )
  }
}

/** What must be done completely or not at all. */
export const trials: Readonly<Record<string, Prepare>> = {
  "a save of a grant": saveOfGrant,
  "a first save of a grant": firstSaveOfGrant,
  "a revocation": revocation,
  "a save of a registration": saveOfRegistration,
  "a change of an athlete's registration": changeOfAthlete,
  "a removal of a subscription": removal,
  "enqueueing several events": enqueueing,
  "settling several deliveries": settlement,
  "releasing several claims": releasing
}
