/** Suites without a test runner. */
import { Effect, Layer } from "effect"
import { expect, it } from "vitest"
import * as Suite from "../src/Suite.ts"

const options = { timeout: 30 }

const running = (check: Effect.Effect<void, string>) => {
  const laws = [
    Suite.law("holds", () => Effect.void),
    Suite.law("is this", () => check),
    Suite.law("is the last", () => Effect.void)
  ]
  return Suite.run(Suite.make("a suite", Layer.empty, [{ about: "it", laws }]), options)
}

it("a law that does not hold fails, and the others are run", async () => {
  const { failed } = await running(Effect.fail("a difference"))
  expect(failed.map(({ name }) => name)).toEqual(["it: is this"])
  expect(failed[0]?.error).toBeInstanceOf(Suite.LawBroken)
})

it("a law that does not end fails, and those after it, which are not run", async () => {
  const { failed } = await running(Effect.never)
  expect(failed.map(({ error }) => String(error))).toEqual([
    "Unended: it: is this: not ended after 0.03 s",
    "Unended: it: is the last: not run"
  ])
})
