import { Effect, Fiber } from "effect"
import { expect, it } from "vitest"
import * as NodeGarbage from "../src/NodeGarbage.ts"

// The name of the set is private in Effect: this test fails if it is another one.
it("Effect has no set of the fibers that run later", async () => {
  const count = () => Effect.runSync(Fiber.roots).length
  const before = count()
  const fiber = Effect.runFork(Effect.never)
  expect(count()).toBe(before + 1)
  await Effect.runPromise(Fiber.interrupt(fiber))
  await Effect.runPromise(NodeGarbage.tune)
  const atRest = count()
  const later = Effect.runFork(Effect.never)
  expect(count()).toBe(atRest)
  expect(await Effect.runPromise(Fiber.interrupt(later))).toMatchObject({ _tag: "Failure" })
})
