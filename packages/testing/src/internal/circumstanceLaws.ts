/** Laws of operations while an application is suspended or has ended, or its subscription is paused (law 14). */
import type { Stores } from "@startlist/core/Stores"
import * as Effect from "effect/Effect"
import { law, type LawGroup } from "../Law.ts"
import { has } from "./expecting.ts"
import * as scenes from "./scenes.ts"
import { alone, look, type MakeScene, staged } from "./stage.ts"

/** Parts of a scene that show the application or the subscription itself. */
const shown: Readonly<Record<string, ReadonlyArray<string>>> = {
  "a suspension": ["application", "applications", "grant"],
  "the end of the application": ["application", "applications", "grant"],
  "a pause": ["subscription"]
}

/** Operations that these circumstances do not change, by scene. Those of the changed record itself are left out. */
const indifferent: ReadonlyArray<readonly [MakeScene, ReadonlyArray<string>]> = [
  [scenes.records, [
    "a save of a grant",
    "a first save of a grant",
    "a revocation",
    "a save of a registration",
    "a save of signing secrets",
    "enqueueing several events",
    "a removal of a subscription"
  ]],
  [scenes.queue, [
    "a settlement",
    "settling several deliveries",
    "a release",
    "releasing several claims",
    "a delivery again",
    "a cancellation",
    "the next events of an object",
    "a removal of a subscription",
    "a purge"
  ]]
]

export const circumstanceLaws: LawGroup<Stores> = {
  about: "circumstances",
  laws: indifferent.flatMap(([makeScene, names]) =>
    names.map((name) =>
      law(
        `a suspension, an end and a pause hide nothing of ${name}, and do not change it`,
        () =>
          Effect.gen(function*() {
            const handles = yield* alone
            const after = (before: ReadonlyArray<string>) =>
              Effect.gen(function*() {
                const stage = yield* staged(makeScene, handles)
                const [f] = stage.handles
                for (const one of before) yield* stage.run(one, f)
                const answer = yield* stage.run(name, f)
                const seen = yield* look(stage, f)
                yield* stage.cleanUp
                return { answer, ...seen }
              })
            const usual = Object.entries(yield* after([]))
            for (const [circumstance, itself] of Object.entries(shown)) {
              const expected = Object.fromEntries(usual.filter(([part]) => !itself.includes(part)))
              has(yield* after([circumstance]), expected, `${name} after ${circumstance}`)
            }
          })
      )
    )
  )
}
