/** How much waits to be delivered: for those who watch the service. */
import type { StoreError } from "@startlist/core/Store"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { Database } from "./Database.ts"
import { heldText } from "./internal/claim.ts"
import type { Int8 } from "./internal/rows.ts"

/**
 * Deliveries that were claimed and could not be signed, since no key opens a signing secret of their application. They are
 * claimed again after each lease, so this grows as long as they wait.
 */
export const withoutKey = Metric.counter("startlist_deliveries_without_key_total", {
  description: "Claims of deliveries that wait because no key opens a signing secret of their application"
})

/** The deliveries that have not come to their end. */
export interface Queue {
  /** All of them. */
  readonly pending: number
  /**
   * Those whose next attempt is due: in flight, or waiting for a worker or for an earlier event of their object. Without
   * those that wait because their subscription is paused or their application suspended.
   */
  readonly due: number
  /** How long the oldest of these has been due. */
  readonly oldestDue: Duration.Duration
}

/** Counts what is pending, now. */
export const look: Effect.Effect<Queue, StoreError, Database> = Effect.gen(function*() {
  const { prefix: p, query } = yield* Database
  const now = yield* DateTime.now
  const [row] = yield* query<{ readonly pending: number; readonly due: number; readonly oldest: Int8 | null }>(
    {
      name: `${p}queue_look`,
      text: `WITH held AS MATERIALIZED (${heldText(p)}), waiting AS (
          SELECT CASE WHEN due_at <= $1::bigint AND subscription_id NOT IN (SELECT id FROM held) THEN due_at END AS due_at
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
