/** Tokens of a former server, which have another form than ours. */
import { it } from "@effect/vitest"
import { ImportStore, Memory } from "@startlist/core"
import { TestSecrets } from "@startlist/testing"
import { Clock, Effect, Layer, Redacted, TestClock } from "effect"
import { expect } from "vitest"

it.effect("a node asks at most once a second whether there are any, also after its clock was set back", () =>
  Effect.gen(function*() {
    const store = yield* ImportStore.ImportStore
    let asked = 0
    const find = yield* Effect.provideService(ImportStore.makeFindImported, ImportStore.ImportStore, {
      ...store,
      hasTokens: () => {
        asked++
        return store.hasTokens()
      }
    })
    const start = yield* Clock.currentTimeMillis
    const counts = yield* Effect.forEach(
      [0, 999, 1000, 3_600_000, 3_600_500, 0, 500],
      (at) =>
        TestClock.setTime(start + at).pipe(
          Effect.zipRight(find(Redacted.make("of another server"))),
          Effect.map(() => asked)
        )
    )
    expect(counts).toEqual([1, 1, 2, 3, 3, 4, 4])
  }).pipe(Effect.provide(Layer.merge(Memory.layer, TestSecrets.layer("test")))))
