import { describe, expect, it, vi } from "vitest"
import type { Contender } from "../src/Contender.ts"
import { compare, fastestPeer } from "../src/Scenario.ts"

const effort = { isQuick: true, rounds: 3, seconds: 1, warmUpCalls: 0, warmUpSeconds: 0 }

/** Records its turn. */
const fake = (name: string, role: Contender["role"], rates: ReadonlyArray<number>, turns: Array<string>): Contender => {
  let round = 0
  return {
    name,
    role,
    measure: async () => {
      turns.push(name)
      const perSecond = rates[round++] ?? 0
      return { perSecond, latency: { p50: 1000 / perSecond, p95: 1, p99: 1 } }
    }
  }
}

describe("A comparison", () => {
  const turns: Array<string> = []
  const run = () =>
    compare({
      title: "Something",
      contenders: [
        fake("ours", "ours", [200, 100, 300], turns),
        fake("slow", "peer", [10, 10, 10], turns),
        fake("fast", "peer", [100, 90, 400], turns),
        fake("bare", "limit", [400, 400, 400], turns)
      ],
      goals: [
        { than: fastestPeer, atLeast: 1.1 },
        { than: "bare", atLeast: 0.65 },
        { than: "bare", by: "latency", atMost: 2.1 },
        { than: "nobody", atLeast: 1 },
        { of: "fast", than: "bare", atLeast: 0.2 },
        { of: "nobody", than: "bare", atLeast: 0.2 }
      ]
    }, effort)

  it("alternates, and compares medians of the ratios of rounds with goals: minimum rates, maximum latencies", async () => {
    const progress = vi.spyOn(console, "error").mockImplementation(() => {})
    const { goals, rows } = await run()
    expect(progress).toHaveBeenCalledWith("  Something")
    progress.mockRestore()
    expect(turns.slice(0, 5)).toEqual(["ours", "slow", "fast", "bare", "ours"])
    expect(rows.map(([name, rate, range, , , , ratio]) => [name, rate, range, ratio])).toEqual([
      ["ours", "200", "100 – 300", ""],
      ["slow", "10.0", "10.0 – 10.0", "20.00 ×"],
      ["fast", "100", "90.0 – 400", "1.11 ×"],
      ["limit: bare", "400", "400 – 400", "0.50 ×"]
    ])
    expect(goals).toEqual([
      { goal: "at least 1.1 times the rate of the fastest peer (fast)", result: "1.11", isReached: true },
      { goal: "at least 0.65 times the rate of bare", result: "0.50", isReached: false },
      { goal: "at most 2.1 times the latency of bare", result: "2.00", isReached: true },
      { goal: "at least 1 times the rate of nobody", result: "not measured", isReached: false },
      { goal: "fast: at least 0.2 times the rate of bare", result: "0.25", isReached: true },
      { goal: "nobody: at least 0.2 times the rate of bare", result: "not measured", isReached: false }
    ])
  })
})
