/** The result of one contender in one round, and summaries of rounds. */
import type * as Cpu from "./Cpu.ts"

/** Milliseconds. */
export interface Latency {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

export interface Measurement {
  readonly perSecond: number
  readonly latency?: Latency
  /** CPU time for each call in microseconds, by clock. */
  readonly cpu?: Clocks<number> | undefined
}

/** Something of the measured process and, where there is one, of its database server. */
export interface Clocks<A> {
  readonly process: A
  readonly database?: A | undefined
}

/** Duration and number of measurements. */
export interface Effort {
  readonly isQuick: boolean
  /** The revision to compare the present build with. */
  readonly before?: string | undefined
  /** Duration of the soak. Without it, the soak is omitted. */
  readonly minutes?: number | undefined
  readonly rounds: number
  readonly seconds: number
  /** Number of calls and maximum duration of the warm-up, in which the compiler optimises the code. */
  readonly warmUpCalls: number
  readonly warmUpSeconds: number
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? sorted[middle] ?? Number.NaN
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/** Percentiles of samples in milliseconds. */
export const latencyOf = (samples: ReadonlyArray<number>): Latency => {
  const sorted = Float64Array.from(samples).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/**
 * Counts calls and their latencies: first those of the warm-up, then those that are measured. With clocks, also their CPU time.
 */
export const makeStopwatch = ({ seconds, warmUpCalls, warmUpSeconds }: Effort, clocks?: Clocks<Cpu.Clock>) => {
  const times = (): Clocks<number> | undefined => clocks && { process: clocks.process(), database: clocks.database?.() }
  let began: ReturnType<typeof times>
  let ended: ReturnType<typeof times>
  const warm = performance.now() + warmUpSeconds * 1000
  const samples: Array<number> = []
  let count = 0
  let left = warmUpCalls
  let from = Number.POSITIVE_INFINITY
  let until = Number.POSITIVE_INFINITY
  return {
    /**
     * Records the end of a call that began at `start`, with its amount of work. Returns whether to make another call.
     */
    ended: (start: number, done = 1): boolean => {
      const now = performance.now()
      if (from === Number.POSITIVE_INFINITY) {
        if (--left <= 0 || now >= warm) {
          began = times()
          from = now
          until = now + seconds * 1000
        }
      } else if (now < until) {
        samples.push(now - start)
        count += done
      } else ended ??= times()
      return now < until
    },
    result: (): Measurement => {
      const rates = { perSecond: count / seconds, latency: latencyOf(samples) }
      if (began === undefined || ended === undefined) return rates
      const database = began.database === undefined || ended.database === undefined
        ? undefined
        : (ended.database - began.database) / count
      return { ...rates, cpu: { process: (ended.process - began.process) / count, database } }
    }
  }
}
