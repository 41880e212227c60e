/** What an application's attempts came to, hour by hour. */
import type { AttemptHour } from "@startlist/core/Delivery"
import * as Option from "effect/Option"
import { type Int8, toInstant } from "./rows.ts"

/** By the index of application, state and identifier: the newest of each state, then the newest of all. */
export const hoursStatement = (p: string) => ({
  name: `${p}delivery_attempts_by_hour`,
  text: `SELECT (a.at - $2::bigint) / 3600000 AS hour,
        count(*) FILTER (WHERE a.delivered) AS delivered, count(*) FILTER (WHERE NOT a.delivered) AS failed,
        percentile_disc(0.5) WITHIN GROUP (ORDER BY a.duration) FILTER (WHERE a.delivered) AS median_ms,
        max(a.duration) FILTER (WHERE a.delivered) AS slowest_ms
      FROM (
        SELECT l.id, l.attempts FROM json_array_elements_text($4::json) AS w(state)
        CROSS JOIN LATERAL (
          SELECT x.id, x.attempts FROM ${p}deliveries x
          WHERE x.application_id = $1::bigint AND x.state = w.state::"char" ORDER BY x.id DESC LIMIT $3::integer
        ) l
        ORDER BY l.id DESC LIMIT $3::integer
      ) d
      CROSS JOIN LATERAL (
        SELECT (e.attempt->>0)::bigint AS at, (e.attempt->>1)::bigint AS duration, e.attempt->>2 = 'delivered' AS delivered
        FROM json_array_elements(d.attempts) AS e(attempt)
      ) a
      WHERE a.at >= $2::bigint
      GROUP BY 1 ORDER BY 1`
})

/** An hour of attempts; `hour` counts from the start that was asked for. */
export interface HourRow {
  readonly hour: Int8
  readonly delivered: Int8
  readonly failed: Int8
  readonly median_ms: Int8 | null
  readonly slowest_ms: Int8 | null
}

export const toHour = (row: HourRow, from: number): AttemptHour => ({
  startsAt: toInstant(from + Number(row.hour) * 3_600_000),
  delivered: Number(row.delivered),
  failed: Number(row.failed),
  latency: row.median_ms === null
    ? Option.none()
    : Option.some({ medianMs: Number(row.median_ms), slowestMs: Number(row.slowest_ms) })
})
