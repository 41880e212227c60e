import { describe, expect, it, vi } from "vitest"
import type { Contender } from "../src/Contender.ts"
import type { Measurement } from "../src/Measurement.ts"
import { compare, fastestPeer } from "../src/Scenario.ts"

const effort = { isQuick: true, rounds: 3, seconds: 1, warmUpCalls: 0, warmUpSeconds: 0 }

/** Records its turn. */
const fake = (
  name: string,
  role: Contender["role"],
  rates: ReadonlyArray<number>,
  turns: Array<string> = [],
  cpu?: () => NonNullable<Measurement["cpu"]>
): Contender => {
  let round = 0
  return {
    name,
    role,
    measure: async () => {
      turns.push(name)
      const perSecond = rates[round++] ?? 0
      return { perSecond, latency: { p50: 1000 / perSecond, p95: 1, p99: 1 }, ...cpu && { cpu: cpu() } }
    }
  }
}

const judged = (what: string, result: string, goal: string, isReached = true) => ({ what, result, goal, isReached })

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
      judged("ours", "1.11 times the rate of the fastest peer (fast)", "at least 1.1"),
      judged("ours", "0.50 times the rate of bare", "at least 0.65", false),
      judged("ours", "2.00 times the latency of bare", "at most 2.1"),
      judged("ours", "the rate of nobody was not measured", "at least 1", false),
      judged("fast", "0.25 times the rate of bare", "at least 0.2"),
      judged("nobody", "the rate of bare was not measured", "at least 0.2", false)
    ])
  })

  it("shows CPU times first, and compares them with the lowest of the peers", async () => {
    const progress = vi.spyOn(console, "error").mockImplementation(() => {})
    const { columns, goals, rows } = await compare({
      title: "Something",
      contenders: [
        fake("ours", "ours", [100, 100, 100], [], () => ({ process: 30 })),
        // Faster, at twice the CPU time of the other one.
        fake("fast", "peer", [400, 400, 400], [], () => ({ process: 80, database: 20 })),
        fake("slow", "peer", [100, 100, 100], [], () => ({ process: 40 })),
        fake("without", "limit", [100, 100, 100])
      ],
      goals: [{ than: fastestPeer, by: "cpu", atMost: 0.8 }, { than: "without", by: "cpu", atMost: 1 }]
    }, effort)
    progress.mockRestore()
    expect([columns[1], columns[3], ...columns.slice(-2)]).toEqual([
      "CPU µs",
      "database µs",
      "CPU: ours is",
      "rate: ours is"
    ])
    expect(rows.map(([name, cpu, , database, ...others]) => [name, cpu, database, ...others.slice(-2)])).toEqual([
      ["ours", "30.0", "–", "", ""],
      ["fast", "80.0", "20.0", "0.38 ×", "0.25 ×"],
      ["slow", "40.0", "–", "0.75 ×", "1.00 ×"],
      ["limit: without", "–", "–", "", "1.00 ×"]
    ])
    expect(goals).toEqual([
      judged("ours", "0.75 times the CPU time of the fastest peer (slow)", "at most 0.8"),
      judged("ours", "the CPU time of without was not measured", "at most 1", false)
    ])
  })
})
