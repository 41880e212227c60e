import { describe, expect, it } from "@effect/vitest"
import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import * as OwnStores from "../src/OwnStores.ts"
import * as SubtleBug from "../src/SubtleBug.ts"

const options = { filename: ":memory:", key: new Uint8Array(32).fill(7) }

describeSuite(StoreLaws.suite("stores on SQLite", OwnStores.layerWith(options)))

describe("stores on SQLite with one word less", () => {
  const stores = SubtleBug.layerWith(options)

  it.live("break the laws about identifiers, and no other but that of random programs", () =>
    Effect.gen(function*() {
      const broken: Array<string> = []
      // A random program notices the bug too, if it subscribes an application again.
      for (const { about, laws } of StoreLaws.laws.filter(({ about }) => about !== "random programs")) {
        for (const { check, name } of laws) {
          const exit = yield* Effect.exit(Effect.provide(check, Layer.fresh(stores)))
          if (Exit.isFailure(exit)) broken.push(`${about}: ${name}\n${Cause.pretty(exit.cause)}`)
        }
      }
      expect(broken.map((one) => one.split("\n")[0])).toStrictEqual([
        "subscriptions: an identifier is never used twice, not even after a removal",
        "delivering again: a delivery to a removed subscription is not delivered again, not even to the next one"
      ])
    }))
})
