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

  it.live("break random programs of subscriptions, and the law that subscribes an application again", () =>
    Effect.gen(function*() {
      const broken: Array<string> = []
      for (const { about, laws } of StoreLaws.laws) {
        for (const { check, name } of laws) {
          // Those of the queue and of everything find it, too.
          if (about === "random programs" && !name.includes("calls of subscriptions")) continue
          const exit = yield* Effect.exit(Effect.provide(check, Layer.fresh(stores)))
          if (Exit.isFailure(exit)) broken.push(`${about}: ${name}\n${Cause.pretty(exit.cause)}`)
        }
      }
      expect(broken).toEqual([
        expect.stringMatching(/^random programs: calls of subscriptions[^]*not so: identifier \d+ is a new one/),
        expect.stringMatching(
          /^the queue: a delivery is made again also while it waits, but only for its own subscription\n/
        )
      ])
    }))
})
