/** The simulation over more seeds and more time than the fast tier has. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Simulation from "../../src/Simulation.ts"
import { size } from "../faults/detect.ts"

/** A part of the seeds that changes every day: other runs try others. */
const today = Math.floor(Date.now() / 86_400_000) % 100_000 * 1000 + 1

describe(`the simulation, with seeds from ${today}`, () => {
  it.live("finds all laws kept over many seeds", () => Simulation.check({ ...size, from: today, seeds: 60 }))

  it.live("signs out nobody who did not revoke", () =>
    Simulation.check({ ...Simulation.stale, from: today, seeds: 100 }))

  it.live("runs two simulated days, through the lifetime of tokens", () =>
    Effect.gen(function*() {
      const { violation } = yield* Simulation.run({ seed: 5, hours: 48, pace: 10 })
      expect(violation).toBeUndefined()
    }))

  // The script does not end its process: nothing of a killed node may keep it alive.
  it("ends with status 0, and says what happened", async () => {
    const script = fileURLToPath(new URL("../simulate.ts", import.meta.url))
    const args = ["--import", "tsx", "--conditions=@startlist/source", script, "--seeds", "12"]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    expect(stdout).toMatch(/12 of 12 seeds.*all laws hold\n[^]*\d crashes during\n/)
  })
})
