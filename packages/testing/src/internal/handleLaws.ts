/** Laws of a storage that is opened more than once: by two handles, as two processes do, or again after closing. */
import type { Stores } from "@startlist/core/Stores"
import * as Arr from "effect/Array"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { law, type LawGroup } from "../Law.ts"
import { everyRecord } from "./everyRecord.ts"
import { same } from "./expecting.ts"
import { type Fixture, make } from "./fixture.ts"
import { storePrograms } from "./storePrograms.ts"
import { storeSweeps } from "./storeSweeps.ts"
import type { WithHandles } from "./handles.ts"

/** Opens the storage once more. The scope closes it. */
export type Open<R> = Effect.Effect<Context.Context<Stores>, unknown, R | Scope.Scope>

const fixtureOf = <R>(open: Open<R>): Effect.Effect<Fixture, unknown, R | Scope.Scope> =>
  Effect.flatMap(open, (stores) => Effect.provide(make, stores))

const withTwo = <R>(open: Open<R>): WithHandles<R> => (use) =>
  Effect.scoped(Effect.flatMap(Effect.all([fixtureOf(open), fixtureOf(open)]), use))

const logs = <R>(open: Open<R>): LawGroup<R> => ({
  about: "two handles",
  laws: [
    law(
      "two handles that read the log at the same time give each event one position",
      () =>
        withTwo(open)(([f, g]) =>
          Effect.gen(function*() {
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
        )
    )
  ]
})

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
            const { finds, saves, subscription } = yield* everyRecord(f)
            same(yield* saves(f), Arr.makeBy(5, () => "success"), "the first saves")
            const claimed = (yield* f.claimAt(-1000)).filter((one) => one.subscription.id === subscription.id)
            return { claimed, finds, found: yield* finds(f), saves, subscription }
          }))
          yield* Effect.scoped(Effect.gen(function*() {
            const g = yield* fixtureOf(open)
            same(yield* before.finds(g), before.found, "what is there")
            same(yield* before.saves(g), Arr.makeBy(5, () => "Conflict"), "saves over an old version")
            same(yield* g.claimAt(-986), [], "what is claimed while leases live")
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
  storeSweeps(withTwo(open)),
  logs(open),
  reopeningLaws(open)
]
