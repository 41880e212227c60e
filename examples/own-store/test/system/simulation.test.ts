import { assert, describe, it } from "@effect/vitest"
import { Simulation } from "@startlist/testing"
import { Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import * as OwnStores from "../../src/OwnStores.ts"
import * as SubtleBug from "../../src/SubtleBug.ts"

const options = { filename: ":memory:", key: new Uint8Array(32).fill(7) }

describe("stores on SQLite", () => {
  it.live("keep all laws in a simulation", () =>
    Effect.gen(function*() {
      const stores = Layer.orDie(OwnStores.layerWith(options))
      yield* Simulation.check({ seeds: 5, hours: 0.05, pace: 600, stores })
    }))
})

describe("stores on SQLite with one word less", () => {
  const stores = SubtleBug.layerWith(options)

  it.live(
    "are caught by the simulation too, with the counterexample that the README shows",
    () =>
      Effect.gen(function*() {
        const exit = yield* Effect.flip(
          Simulation.check({ seeds: 50, hours: 0.05, pace: 600, stores: Layer.orDie(stores) })
        )
        const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8")
        // The history may be worded differently one day. The operations are these.
        assert.include(readme, exit.counterexample.slice(0, exit.counterexample.indexOf("history:")))
      })
  )
})
