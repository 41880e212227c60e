/** The quick groups of laws. The system tier runs all of them, with other test runners and with none. */
import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Grant, User } from "@startlist/core"
import { Effect } from "effect"
import { expect, it } from "vitest"
import * as OwnStores from "../src/OwnStores.ts"

const stores = OwnStores.layerWith({ filename: ":memory:", key: new Uint8Array(32).fill(7) })
const slow = ["all or nothing", "races", "races with an erasure", "random programs"]

describeSuite(StoreLaws.suite("stores on SQLite", stores, { groups: (about) => !slow.includes(about) }))

it("lets timers and requests have their turn between calls", async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  const calls = Effect.flatMap(
    Grant.GrantStore,
    ({ listByUser }) => Effect.repeatN(listByUser(User.UserId.make(1)), 1000)
  )
  await Effect.runPromise(Effect.provide(calls, stores))
  clearInterval(timer)
  expect(turns).toBeGreaterThan(0)
})
