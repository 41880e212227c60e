/** The fuzzer's measure of the time that a header or a parameter takes. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { findBases } from "../hostile/support/Bases.ts"
import { makeMeasuredService } from "../hostile/support/MeasuredService.ts"
import { sendRuns } from "../hostile/support/Runs.ts"
import { makeWorld } from "../hostile/support/World.ts"

it.scopedLive("detects a header that is read in quadratic time", () =>
  Effect.gen(function*() {
    const send = (planted: string) =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService({ PLANTED: planted })
        return yield* Effect.tryPromise({
          try: async () => {
            const world = await makeWorld(service)
            const bases = await findBases(service, world)
            const basic = bases.filter(({ request }) => request.headers.some(([, value]) => value.startsWith("Basic")))
            await sendRuns(service, basic, world.values()).finally(world.close)
          },
          catch: String
        })
      })
    expect(yield* Effect.flip(send("quadratic"))).toMatch(/Authorization with a run of " " takes/)
    yield* send("nothing")
  }))
