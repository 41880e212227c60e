/** Attempts counted by hours, for the chart of a day. */
import * as Arr from "effect/Array"
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import type { Attempt } from "@startlist/core/Delivery"

/** Outcomes of the attempts of one hour (UTC). */
export interface AttemptHour {
  /** Its first instant. */
  readonly startsAt: DateTime.Utc
  readonly delivered: number
  readonly failed: number
  /** Duration of the successful attempts: the lower median and the slowest, in milliseconds. */
  readonly latency: Option.Option<{ readonly medianMs: number; readonly slowestMs: number }>
}

const hourMillis = 3_600_000

const countsOf = (startsAt: DateTime.Utc, attempts: ReadonlyArray<Attempt>): AttemptHour => {
  const delivered = attempts.filter(({ outcome }) => outcome === "delivered")
  const times = delivered.map(({ durationMs }) => durationMs).sort((a, b) => a - b)
  const slowest = Option.fromNullable(times.at(-1))
  return {
    startsAt,
    delivered: times.length,
    failed: attempts.length - times.length,
    latency: Option.map(slowest, (slowestMs) => ({
      medianMs: times[Math.ceil(times.length / 2) - 1] ?? slowestMs,
      slowestMs
    }))
  }
}

/** The 24 hours from `start`, the first instant of an hour. An attempt belongs to the hour in which it started. */
export const dayOf = (start: DateTime.Utc, attempts: ReadonlyArray<Attempt>): ReadonlyArray<AttemptHour> => {
  const byHour = Arr.groupBy(
    attempts,
    ({ at }) => String(Math.floor((at.epochMillis - start.epochMillis) / hourMillis))
  )
  return Array.from(
    { length: 24 },
    (_, place) => countsOf(DateTime.add(start, { hours: place }), byHour[String(place)] ?? [])
  )
}
