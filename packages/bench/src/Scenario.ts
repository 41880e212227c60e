/** A scenario of the benchmarks, and the comparison that most of them are made of. */
import type { Contender } from "./Contender.ts"
import { type Effort, type Measurement, median } from "./Measurement.ts"

export interface Scenario {
  /** For `npm run bench -- NAME`. */
  readonly name: string
  readonly title: string
  /** What is measured and how, in Markdown. */
  readonly about: string
  readonly run: (effort: Effort) => Promise<ReadonlyArray<Table>>
}

/** What a scenario came to. */
export interface Table {
  readonly title: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  readonly goals: ReadonlyArray<Judged>
}

/** A goal beside what was reached. */
export interface Judged {
  readonly goal: string
  readonly result: string
  readonly isReached: boolean
}

/** What ours shall be, as a ratio to another contender: of rates, or of median latencies. */
export interface Goal {
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
  /** Over the last column, which says how many times as fast the first one is. Default: `ours is`. */
  readonly ratio?: string
}

/** What the rounds of one contender came to. */
interface Result {
  readonly contender: Contender
  readonly rate: number
  readonly latency: number
  readonly cells: ReadonlyArray<string>
}

export const count = (value: number): string => value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1)

const millis = (value: number): string => Number.isNaN(value) ? "–" : value.toFixed(value < 10 ? 2 : 1)

const summarise = (contender: Contender, rounds: ReadonlyArray<Measurement>): Result => {
  const rates = rounds.map(({ perSecond }) => perSecond)
  const of = (pick: "p50" | "p95" | "p99") =>
    median(rounds.flatMap(({ latency }) => latency === undefined ? [] : [latency[pick]]))
  const rate = median(rates)
  return {
    contender,
    rate,
    latency: of("p50"),
    cells: [count(rate), `${count(Math.min(...rates))} – ${count(Math.max(...rates))}`].concat(
      [of("p50"), of("p95"), of("p99")].map(millis)
    )
  }
}

const judge = (goal: Goal, ours: Result, others: ReadonlyArray<Result>): Judged => {
  const { atLeast, atMost, by, than } = goal
  const bound = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`
  const words = `${bound} times ${by === "latency" ? "the latency" : "the rate"} of ${than}`
  const fastest = others.filter(({ contender }) => contender.role === "peer").sort((a, b) => b.rate - a.rate)[0]
  const other = than === fastestPeer ? fastest : others.find(({ contender }) => contender.name === than)
  if (other === undefined) return { goal: words, result: "not measured", isReached: false }
  const ratio = by === "latency" ? ours.latency / other.latency : ours.rate / other.rate
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
  const rounds = new Map<Contender, Array<Measurement>>(contenders.map((contender) => [contender, []]))
  console.error(`  ${title}`)
  for (let round = 1; round <= effort.rounds; round++) {
    for (const [contender, measured] of rounds) {
      const measurement = await contender.measure(effort)
      measured.push(measurement)
      console.error(`    round ${round}  ${contender.name.padEnd(40)} ${count(measurement.perSecond).padStart(9)}/s`)
    }
  }
  const [ours, ...others] = [...rounds].map(([contender, measured]) => summarise(contender, measured))
  if (ours === undefined) throw new Error(`${title}: nothing to measure`)
  return {
    title,
    columns: ["", "per second", "range", "p50 ms", "p95 ms", "p99 ms", ratio],
    rows: [ours, ...others].map((result) => [
      result.contender.role === "limit" ? `limit: ${result.contender.name}` : result.contender.name,
      ...result.cells,
      result === ours ? "" : `${(ours.rate / result.rate).toFixed(2)} ×`
    ]),
    goals: goals.map((goal) => judge(goal, ours, others))
  }
}
