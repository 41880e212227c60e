/** Metrics of the queue of deliveries. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { StoreError } from "@startlist/core/Store"
import { Database } from "./Database.ts"
import { pausedText } from "./internal/queue.ts"
import type { Int8 } from "./internal/rows.ts"

/**
 * Claimed deliveries that could not be signed, because no key opens a signing secret of their application. They are
 * claimed again after each lease, so this counter grows while they wait.
 */
export const withoutKey = Metric.counter("startlist_deliveries_without_key_total", {
  description: "Claims of deliveries that wait because no key opens a signing secret of their application"
})

/** Pending deliveries. */
export interface Queue {
  /** Number of pending deliveries. */
  readonly pending: number
  /**
   * Number of those whose next attempt is due: in flight, or waiting for a worker or an earlier event of their object.
   * Does not include deliveries of paused subscriptions and suspended applications.
   */
  readonly due: number
  /** Time since the oldest of these became due. */
  readonly oldestDue: Duration.Duration
}

/** Counts pending deliveries. */
export const look: Effect.Effect<Queue, StoreError, Database> = Effect.gen(function*() {
  const { prefix: p, query } = yield* Database
  const now = yield* DateTime.now
  const [row] = yield* query<{ readonly pending: number; readonly due: number; readonly oldest: Int8 | null }>(
    {
      name: `${p}queue_look`,
      text: `WITH paused AS MATERIALIZED (${pausedText(p)}), waiting AS (
          SELECT CASE WHEN due_at <= $1::bigint AND subscription_id NOT IN (SELECT id FROM paused) THEN due_at END AS due_at
          FROM ${p}deliveries WHERE state = 'p'
        )
        SELECT count(*)::integer AS pending, count(due_at)::integer AS due, min(due_at) AS oldest FROM waiting`
    },
    [Math.floor(now.epochMillis)]
  )
  return {
    pending: row?.pending ?? 0,
    due: row?.due ?? 0,
    oldestDue: Duration.millis(row?.oldest == null ? 0 : Math.max(0, now.epochMillis - Number(row.oldest)))
  }
})
