/** Outcomes of the attempts of a day, by hour. */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import type { Attempt } from "@startlist/core/Delivery"

/** Outcomes of the attempts of one hour. */
export interface AttemptHour {
  /** Its first instant. */
  readonly startsAt: DateTime.Utc
  readonly delivered: number
  readonly failed: number
  /** Duration of the successful attempts: the lower median and the slowest, in milliseconds. */
  readonly latency: Option.Option<{ readonly medianMs: number; readonly slowestMs: number }>
}

const hourMillis = 3_600_000

/** The start of the last day: the full hour 23 hours before the present hour. */
export const startOfLastDay = ({ epochMillis }: DateTime.Utc): number =>
  epochMillis - epochMillis % hourMillis - 23 * hourMillis

const toHour = (startsAt: number, attempts: ReadonlyArray<Attempt>): AttemptHour => {
  const durations = attempts
    .flatMap(({ durationMs, outcome }) => outcome === "delivered" ? [durationMs] : [])
    .sort((a, b) => a - b)
  const [medianMs, slowestMs] = [durations[Math.ceil(durations.length / 2) - 1], durations.at(-1)]
  return {
    startsAt: DateTime.unsafeMake(startsAt),
    delivered: durations.length,
    failed: attempts.length - durations.length,
    latency: medianMs === undefined || slowestMs === undefined ? Option.none() : Option.some({ medianMs, slowestMs })
  }
}

/** The 24 hours of the last day, oldest first. Earlier attempts are left out. */
export const lastDayOf = (attempts: ReadonlyArray<Attempt>, now: DateTime.Utc): ReadonlyArray<AttemptHour> => {
  const start = startOfLastDay(now)
  const hours = Array.from({ length: 24 }, (): Array<Attempt> => [])
  for (const attempt of attempts) hours[Math.floor((attempt.at.epochMillis - start) / hourMillis)]?.push(attempt)
  return hours.map((ofHour, index) => toHour(start + index * hourMillis, ofHour))
}
