/** Laws of a storage that is opened more than once: by two handles, as two processes do, or again after closing. */
import type { Stores } from "@startlist/core/Services"
import * as Arr from "effect/Array"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { type Law, law, type LawGroup } from "../Suite.ts"
import { operations } from "./atomicityLaws.ts"
import { same } from "./expecting.ts"
import { early, type Fixture, make } from "./fixture.ts"
import { racesOf } from "./raceLaws.ts"
import { storePrograms } from "./storePrograms.ts"
import { queue } from "./deliveryScenes.ts"
import { after, records } from "./recordScenes.ts"
import { type Handles, look, staged, type WithHandles } from "./stage.ts"
import type { Steps } from "./storeLaw.ts"

/** Opens the storage once more. The scope closes it. */
export type Open<R> = Effect.Effect<Context.Context<Stores>, unknown, R | Scope.Scope>

const fixtureOf = <R>(open: Open<R>): Effect.Effect<Fixture, unknown, R | Scope.Scope> =>
  Effect.flatMap(open, (stores) => Effect.provide(make, stores))

const withTwo = <R>(open: Open<R>): WithHandles<R> => (use) =>
  Effect.scoped(Effect.flatMap(Effect.all([fixtureOf(open), fixtureOf(open)]), use))

/** A law over two handles. */
const handleLaw = (name: string, check: (handles: Handles) => Steps) => <R>(open: Open<R>): Law<R> =>
  law(name, () => withTwo(open)((handles) => Effect.asVoid(Effect.gen(() => check(handles)))))

const saves = [
  "a save of a grant",
  "a save of an application",
  "a save of a registration",
  "a save of a subscription",
  "a save of signing secrets"
]

/** Operations of one handle, which the other must see. */
const visible = [
  ...operations,
  [queue, ["a claim"]],
  [after(records, "a revocation"), ["a consent after the revocation"]],
  [after(records, "a suspension"), ["a restoration"]]
] as const

const visibility: ReadonlyArray<<R>(open: Open<R>) => Law<R>> = [
  ...visible.flatMap(([makeScene, names]) =>
    names.map((name) =>
      handleLaw(`${name} by one handle is seen by the other immediately, whatever it saw before`, function*([f, g]) {
        for (const handles of [[f, g], [g, f]] as const) {
          const stage = yield* staged(makeScene, handles)
          const [one, other] = stage.handles
          same(yield* look(stage, other), yield* look(stage, one), "what the other sees before")
          yield* stage.run(name, one)
          same(yield* look(stage, other), yield* look(stage, one), "what the other sees afterwards")
          yield* stage.cleanUp
        }
      })
    )
  ),
  handleLaw("two handles save in turn, each over the version of the other", function*(handles) {
    const { cleanUp, handles: [f, g], run } = yield* staged(records, handles)
    for (const [place, by] of [f, f, g, f, g].entries()) {
      for (const name of saves) {
        same(yield* run(name, by, place + 1, place + 2), null, `${name}, version ${place + 2}`)
      }
    }
    yield* cleanUp
  }),
  handleLaw("two handles that take turns never give the same identifier", function*(handles) {
    const made = yield* Effect.forEach([...handles, ...handles, ...handles], (by) =>
      Effect.gen(function*() {
        const { app, subscription } = yield* by.subscribed
        const { id: registration } = yield* by.registration(yield* by.user())
        const [delivery] = yield* by.enqueue(app, [by.event(1, early)])
        return { application: app.id, subscription: subscription.id, registration, delivery }
      }))
    for (const kind of ["application", "subscription", "registration", "delivery"] as const) {
      same(new Set(made.map((one) => one[kind])).size, made.length, `different identifiers (${kind})`)
    }
    for (const { cleanUp } of handles) yield* cleanUp
  }),
  handleLaw("a claim by one handle shows secrets and subscription as the other has saved them", function*([f, g]) {
    for (const [one, other] of [[f, g], [g, f]] as const) {
      const { app, subscription } = yield* one.subscribed
      const claimed = Effect.gen(function*() {
        yield* one.enqueue(app, [one.event(1, early)])
        const mine = (yield* other.claimAt(-1000)).filter((one) => one.delivery.applicationId === app.id)
        yield* other.settle(mine)
        return mine.map(({ signingSecrets, subscription }) => [subscription, signingSecrets])
      })
      const { secrets } = yield* one.signingSecrets(app)
      same(yield* claimed, [[subscription, secrets]], "what a claim shows at first")
      const added = { number: 2, value: Redacted.make(one.name("whsec")), expiresAt: Option.none() }
      const rotated = [added, ...secrets]
      yield* one.applications.saveSigningSecrets({ applicationId: app.id, version: 2, secrets: rotated })
      same(yield* claimed, [[subscription, rotated]], "what a claim shows after new signing secrets")
      const moved = { ...subscription, callbackUrl: "https://app.example.test/moved", version: 2 }
      yield* one.subscriptions.save(moved)
      same(yield* claimed, [[moved, rotated]], "what a claim shows after a new callback URL")
      yield* one.subscriptions.save({ ...moved, paused: true, version: 3 })
      same(yield* claimed, [], "what is claimed after a pause")
      yield* one.cleanUp
    }
  }),
  handleLaw("a position of the log that one handle has returned is known to the other", function*([f, g]) {
    const { app } = yield* f.subscribed
    const read = (by: Fixture, after: number) => by.deliveries.log({ applicationId: app.id, after, limit: 10 })
    for (const [one, other] of [[f, g], [g, f]] as const) {
      yield* read(other, 0)
      yield* one.deliveryQueue.enqueue(one.outgoing(app, one.event(1)))
      const last = (yield* read(one, 0)).at(-1)
      same(yield* read(other, last?.position ?? 0), [])
    }
    yield* f.cleanUp
  }),
  handleLaw("two handles that read the log at the same time give each event one position", function*([f, g]) {
    const { app } = yield* f.subscribed
    let last = 0
    for (let round = 0; round < 5; round++) {
      const added = yield* f.enqueue(app, f.events(Arr.range(1, 30)))
      const read = (by: Fixture) => by.deliveries.log({ applicationId: app.id, after: last, limit: 100 })
      const pages = yield* Effect.all([read(f), read(g)], { concurrency: 2 })
      const known = yield* read(f)
      same(known.map(({ delivery }) => delivery.id), added)
      for (const page of pages) same(page, known, `what the log had at first, round ${round}`)
      last = known.at(-1)?.position ?? 0
    }
    yield* f.cleanUp
  })
]

/** Laws of a storage that is closed and opened. */
export const reopeningLaws = <R>(open: Open<R>): LawGroup<R> => ({
  about: "closing and opening",
  laws: [
    law(
      "everything that was saved is there when the storage is opened again, leases and versions too",
      () =>
        Effect.gen(function*() {
          const before = yield* Effect.scoped(Effect.gen(function*() {
            const f = yield* fixtureOf(open)
            const stage = yield* staged(records, [f, f])
            for (const name of saves) yield* stage.run(name, f)
            const { app, subscription } = yield* f.subscribed
            yield* f.queue(app, f.events([1, 2], early))
            const claimed = (yield* f.claimAt(-1000)).filter((one) => one.subscription.id === subscription.id)
            return { app, claimed, listed: yield* f.listed(app), seen: yield* look(stage, f), stage, subscription }
          }))
          yield* Effect.scoped(Effect.gen(function*() {
            const g = yield* fixtureOf(open)
            same(yield* look(before.stage, g), before.seen, "what is there")
            for (const name of saves) {
              same(yield* before.stage.run(name, g, 2), "@startlist/core/Conflict", `${name} over an old version`)
            }
            same(yield* g.listed(before.app), before.listed, "the deliveries")
            const claimed = yield* g.claimAt(-986)
            same(claimed, [], "what is claimed while leases live")
            const { subscription } = yield* g.subscribed
            same(subscription.id > before.subscription.id, true, "the next identifier is a new one")
            const recorded = yield* g.settle(before.claimed)
            same(recorded.length, 2, "settlements under claims of before")
          }))
        })
    )
  ]
})

/** Laws of a storage that several handles can open at a time. */
export const handleLaws = <R>(open: Open<R>): ReadonlyArray<LawGroup<R>> => [
  storePrograms(withTwo(open)),
  { about: "two handles", laws: visibility.map((law) => law(open)) },
  reopeningLaws(open),
  ...racesOf(withTwo(open))
]
