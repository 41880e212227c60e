/** Scenarios of the benchmarks, and the comparison that most of them use. */
import type { Contender } from "./Contender.ts"
import { type Effort, type Latency, type Measurement, median } from "./Measurement.ts"

export interface Scenario {
  /** Name for `npm run bench -- NAME`. */
  readonly name: string
  readonly title: string
  /** Description of the measurement, in Markdown. */
  readonly about: string
  readonly run: (effort: Effort) => Promise<ReadonlyArray<Table>>
  /** Rounds and seconds, if they differ from those of the run. */
  readonly effortOf?: (effort: Effort) => Effort
}

/** The result of a scenario. */
export interface Table {
  readonly title: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  readonly goals: ReadonlyArray<Judged>
}

/** A goal and the result. */
export interface Judged {
  readonly goal: string
  readonly result: string
  readonly isReached: boolean
}

/** A goal for ours, as a ratio to another contender: of rates, or of median latencies. */
export interface Goal {
  /** The contender that has the goal. Default: the first one. */
  readonly of?: string
  readonly than: string
  readonly by?: "latency"
  readonly atLeast?: number
  readonly atMost?: number
}

export const fastestPeer = "the fastest peer"

export interface Comparison {
  readonly title: string
  readonly contenders: ReadonlyArray<Contender>
  readonly goals: ReadonlyArray<Goal>
  /** Title of the last column, which has the speed of the first contender as a ratio. Default: `ours is`. */
  readonly ratio?: string
}

/** The results of one contender, by round. */
interface Result {
  readonly contender: Contender
  readonly rounds: ReadonlyArray<Measurement>
}

const percentiles = ["p50", "p95", "p99"] as const

export const count = (value: number): string => value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1)

const millis = (value: number): string => Number.isNaN(value) ? "–" : value.toFixed(value < 10 ? 2 : 1)

const rateOf = ({ perSecond }: Measurement): number => perSecond

const latencyOf = (percentile: keyof Latency) => ({ latency }: Measurement): number =>
  latency?.[percentile] ?? Number.NaN

const cells = ({ rounds }: Result): ReadonlyArray<string> => {
  const rates = rounds.map(rateOf)
  return [
    count(median(rates)),
    `${count(Math.min(...rates))} – ${count(Math.max(...rates))}`,
    ...percentiles.map((percentile) => millis(median(rounds.map(latencyOf(percentile)))))
  ]
}

/**
 * The median of the ratios of the rounds. A round takes less than a minute, so a machine whose speed changes between
 * rounds has the same speed for both contenders.
 */
const ratioOf = (of: (measurement: Measurement) => number, ours: Result, other: Result): number =>
  median(ours.rounds.flatMap((measurement, round) => {
    const beside = other.rounds[round]
    return beside === undefined ? [] : [of(measurement) / of(beside)]
  }))

const judge = (goal: Goal, first: Result, all: ReadonlyArray<Result>): Judged => {
  const { atLeast, atMost, by, of, than } = goal
  const ours = of === undefined ? first : all.find(({ contender }) => contender.name === of)
  const others = all.filter((result) => result !== ours)
  const bound = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`
  const subject = of === undefined ? "" : `${of}: `
  const words = `${subject}${bound} times ${by === "latency" ? "the latency" : "the rate"} of ${than}`
  if (ours === undefined) return { goal: words, result: "not measured", isReached: false }
  const rate = (other: Result) => ratioOf(rateOf, ours, other)
  const fastest = others.filter(({ contender }) => contender.role === "peer").sort((a, b) => rate(a) - rate(b))[0]
  const other = than === fastestPeer ? fastest : others.find(({ contender }) => contender.name === than)
  if (other === undefined) return { goal: words, result: "not measured", isReached: false }
  const ratio = by === "latency" ? ratioOf(latencyOf("p50"), ours, other) : rate(other)
  return {
    goal: than === fastestPeer ? `${words} (${other.contender.name})` : words,
    result: ratio.toFixed(2),
    isReached: (atLeast === undefined || ratio >= atLeast) && (atMost === undefined || ratio <= atMost)
  }
}

/** Measures the contenders in turns (A B A B …). The first is ours. */
export const compare = async (
  { contenders, goals, ratio = "ours is", title }: Comparison,
  effort: Effort
): Promise<Table> => {
  const measured = new Map<Contender, Array<Measurement>>(contenders.map((contender) => [contender, []]))
  console.error(`  ${title}`)
  for (let round = 1; round <= effort.rounds; round++) {
    for (const [contender, rounds] of measured) {
      const measurement = await contender.measure(effort)
      rounds.push(measurement)
      console.error(`    round ${round}  ${contender.name.padEnd(40)} ${count(measurement.perSecond).padStart(9)}/s`)
    }
  }
  const results = [...measured].map(([contender, rounds]): Result => ({ contender, rounds }))
  const [ours] = results
  if (ours === undefined) throw new Error(`${title}: nothing to measure`)
  return {
    title,
    columns: ["", "per second", "range", ...percentiles.map((percentile) => `${percentile} ms`), ratio],
    rows: results.map((result) => [
      result.contender.role === "limit" ? `limit: ${result.contender.name}` : result.contender.name,
      ...cells(result),
      result === ours ? "" : `${ratioOf(rateOf, ours, result).toFixed(2)} ×`
    ]),
    goals: goals.map((goal) => judge(goal, ours, results))
  }
}
