/** The law of saves at the same time: each is done with its events, or not at all. */
import type { Stores } from "@startlist/core/Stores"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { Law } from "../Law.ts"
import { same, sorted } from "./expecting.ts"
import { following } from "./fixture.ts"
import { atRest, stepsOf, type Stops, sweep } from "./rounds.ts"
import { asText } from "./stage.ts"
import { interruptAt } from "./stepping.ts"
import { storeLaw } from "./storeLaw.ts"

/** Saves at the same time, which a store may join in one statement. */
export const parallelSaves = (what: "grants" | "registrations"): Law<Stores> =>
  storeLaw(
    `of parallel saves of ${what} that are interrupted or read at any moment, each is done with its events or not at all`,
    function*(f) {
      const numbers = Arr.range(1, 4)
      const trial = (
        run: (
          saves: Effect.Effect<unknown>,
          notNotified: Effect.Effect<ReadonlyArray<number>, unknown>
        ) => Effect.Effect<unknown, unknown>
      ) =>
        Effect.gen(function*() {
          const { app } = yield* f.subscribed
          const records = yield* Effect.forEach(numbers, (n) =>
            Effect.gen(function*() {
              const [owner, outgoing] = [yield* f.user(), f.outgoing(app, f.event(n), f.event(n))]
              if (what === "registrations") {
                const registration = yield* f.registration(owner)
                const found = Effect.map(f.registrations.find(registration.id), Option.map(({ version }) => version))
                return { found, save: f.registrations.save({ ...registration, version: 2 }, outgoing) }
              }
              const grant = yield* f.grant(app, owner)
              const found = Effect.map(f.findGrant(app.id, owner.id), Option.map(({ version }) => version))
              return { found, save: f.grants.save({ grant: following(grant), outgoing }) }
            }))
          /** Objects of saves that are done, and of events that are queued. */
          const seen = Effect.gen(function*() {
            const versions = yield* Effect.forEach(records, ({ found }) => found, { concurrency: "unbounded" })
            const saved = numbers.filter((_, place) => Option.contains(versions[place] ?? Option.none(), 2))
            return { saved: saved.flatMap((n) => [n, n]), queued: sorted(yield* f.listedObjects(app)) }
          })
          const saves = Effect.all(records.map(({ save }) => Effect.either(save)), { concurrency: "unbounded" })
          yield* run(saves, Effect.map(seen, ({ queued, saved }) => saved.filter((n) => !queued.includes(n))))
          const { queued, saved } = yield* atRest(seen, ({ queued, saved }) => asText(saved) === asText(queued))
          same(queued, saved, "objects of the events, and of what was saved")
          yield* f.cleanUp
        })
      let steps: Stops<number> = { order: [], least: 0 }
      yield* trial((saves) => Effect.map(stepsOf(saves), (all) => void (steps = all)))
      yield* sweep(steps, (step) => trial((saves) => interruptAt(saves, step)))
      for (let round = 0; round < 8; round++) {
        yield* trial((saves, notNotified) =>
          Effect.gen(function*() {
            const saving = yield* Effect.fork(saves)
            const isDone = Effect.map(Fiber.poll(saving), Option.isSome)
            const read = Effect.map(notNotified, (objects) => same(objects, [], "what is saved without its events"))
            const reading = Effect.repeat(Effect.zipRight(Effect.yieldNow(), read), { until: () => isDone })
            yield* Effect.all([reading, reading], { concurrency: "unbounded" })
          })
        )
      }
    }
  )
