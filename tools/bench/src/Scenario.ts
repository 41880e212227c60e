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
  /** For the summary. */
  readonly summary?: { readonly by: string; readonly peer?: Beside; readonly limit?: Beside }
}

/** A goal and the result, for sentences: "WHAT: RESULT (goal: GOAL)". */
export interface Judged {
  readonly what: string
  readonly result: string
  readonly goal: string
  readonly isReached: boolean
}

/** Ours as a ratio to the best other contender of a kind. Of CPU times where they were measured, else of rates. */
export interface Beside {
  readonly name: string
  readonly ratio: string
}

/** A goal for ours, as a ratio to another contender: of rates, of median latencies, or of CPU times. */
export interface Goal {
  /** The contender that has the goal. Default: the first one. */
  readonly of?: string
  readonly than: string
  readonly by?: "latency" | "cpu"
  readonly atLeast?: number
  readonly atMost?: number
}

export const fastestPeer = "the fastest peer"

export interface Comparison {
  readonly title: string
  readonly contenders: ReadonlyArray<Contender>
  readonly goals: ReadonlyArray<Goal>
  /** Title of the last column, which has the rate of the first contender as a ratio. Default: `ours is`. */
  readonly ratio?: string
}

/** The results of one contender, by round. */
interface Result {
  readonly contender: Contender
  readonly rounds: ReadonlyArray<Measurement>
}

export const count = (value: number): string => value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1)

const millis = (value: number): string => Number.isNaN(value) ? "–" : value.toFixed(value < 10 ? 2 : 1)

const times = (ratio: number): string => Number.isNaN(ratio) ? "" : `${ratio.toFixed(2)} ×`

const rateOf = ({ perSecond }: Measurement): number => perSecond

const latencyOf = (percentile: keyof Latency) => ({ latency }: Measurement): number =>
  latency?.[percentile] ?? Number.NaN

const cpuOf = ({ cpu }: Measurement): number => cpu?.process ?? Number.NaN

const databaseCpuOf = ({ cpu }: Measurement): number => cpu?.database ?? Number.NaN

/** What tables show of a contender: its median over the rounds, and for the first ones also the range. */
interface Column {
  readonly title: string
  readonly of: (measurement: Measurement) => number
  readonly show: (value: number) => string
  readonly hasRange?: boolean
}

const known = (value: number): string => Number.isNaN(value) ? "–" : count(value)

const rateColumns: ReadonlyArray<Column> = [
  { title: "per second", of: rateOf, show: count, hasRange: true },
  ...(["p50", "p95", "p99"] as const).map((percentile) => ({
    title: `${percentile} ms`,
    of: latencyOf(percentile),
    show: millis
  }))
]

/** CPU time comes first: it is the steadiest. */
const cpuColumns: ReadonlyArray<Column> = [
  { title: "CPU µs", of: cpuOf, show: known, hasRange: true },
  { title: "database µs", of: databaseCpuOf, show: known },
  { title: "per second", of: rateOf, show: count },
  { title: "p50 ms", of: latencyOf("p50"), show: millis },
  { title: "p99 ms", of: latencyOf("p99"), show: millis }
]

const rangeOf = ({ of, show }: Column, { rounds }: Result): string =>
  `${show(Math.min(...rounds.map(of)))} – ${show(Math.max(...rounds.map(of)))}`

const cells = (columns: ReadonlyArray<Column>, result: Result): ReadonlyArray<string> =>
  columns.flatMap((column) => [
    column.show(median(result.rounds.map(column.of))),
    ...column.hasRange === true ? [rangeOf(column, result)] : []
  ])

/**
 * The median of the ratios of the rounds. A round takes less than a minute, so a machine whose speed changes between
 * rounds has the same speed for both contenders.
 */
const ratioOf = (of: (measurement: Measurement) => number, ours: Result, other: Result): number =>
  median(ours.rounds.flatMap((measurement, round) => {
    const beside = other.rounds[round]
    return beside === undefined ? [] : [of(measurement) / of(beside)]
  }))

const kinds = {
  rate: { of: rateOf, words: "the rate", isBetter: (a: number, b: number) => b - a },
  latency: { of: latencyOf("p50"), words: "the latency", isBetter: (a: number, b: number) => a - b },
  cpu: { of: cpuOf, words: "the CPU time", isBetter: (a: number, b: number) => a - b }
} as const

type Kind = (typeof kinds)[keyof typeof kinds]

const bestOf = (role: Contender["role"], kind: Kind, ours: Result, all: ReadonlyArray<Result>): Result | undefined =>
  all
    .filter((result) => result !== ours && result.contender.role === role)
    .filter((result) => !Number.isNaN(ratioOf(kind.of, result, ours)))
    .toSorted((a, b) => kind.isBetter(ratioOf(kind.of, a, ours), ratioOf(kind.of, b, ours)))[0]

const besideOf = (
  role: Contender["role"],
  kind: Kind,
  ours: Result,
  all: ReadonlyArray<Result>
): Beside | undefined => {
  const best = bestOf(role, kind, ours, all)
  return best && { name: best.contender.name, ratio: times(ratioOf(kind.of, ours, best)) }
}

const judge = (goal: Goal, first: Result, all: ReadonlyArray<Result>): Judged => {
  const { atLeast, atMost, by = "rate", of, than } = goal
  const kind = kinds[by]
  const ours = of === undefined ? first : all.find(({ contender }) => contender.name === of)
  const bound = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`
  const what = ours?.contender.name ?? of ?? ""
  const other = ours === undefined
    ? undefined
    : than === fastestPeer
    ? bestOf("peer", kind, ours, all)
    : all.find((result) => result !== ours && result.contender.name === than)
  const ratio = ours === undefined || other === undefined ? Number.NaN : ratioOf(kind.of, ours, other)
  if (Number.isNaN(ratio)) {
    return { what, result: `${kind.words} of ${than} was not measured`, goal: bound, isReached: false }
  }
  const name = other?.contender.name
  return {
    what,
    result: `${ratio.toFixed(2)} times ${kind.words} of ${than === fastestPeer ? `${than} (${name})` : name}`,
    goal: bound,
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
  const hasCpu = ours.rounds.some(({ cpu }) => cpu !== undefined)
  const kind = hasCpu ? kinds.cpu : kinds.rate
  const [peer, limit] = [besideOf("peer", kind, ours, results), besideOf("limit", kind, ours, results)]
  const columns = hasCpu ? cpuColumns : rateColumns
  const compared = [
    ...hasCpu ? [["CPU: ours is", cpuOf] as const] : [],
    [hasCpu ? "rate: ours is" : ratio, rateOf] as const
  ]
  return {
    title,
    columns: [
      "",
      ...columns.flatMap(({ hasRange = false, title }) => [title, ...hasRange ? ["range"] : []]),
      ...compared.map(([title]) => title)
    ],
    rows: results.map((result) => [
      result.contender.role === "limit" ? `limit: ${result.contender.name}` : result.contender.name,
      ...cells(columns, result),
      ...compared.map(([, of]) => result === ours ? "" : times(ratioOf(of, ours, result)))
    ]),
    goals: goals.map((goal) => judge(goal, ours, results)),
    summary: {
      by: kind.words,
      ...peer && { peer },
      ...limit && { limit }
    }
  }
}
