/**
 * The recording of attempts, as a function in the database: one call in place of a transaction of two statements.
 *
 * A migration created this function. To change it, add a migration that replaces it with the variant that fits the tables:
 * they may be divided by then.
 */

import type { Layout } from "../Database.ts"
import { lockEnded } from "./divided.ts"

/** The columns of an ended delivery with its ordering key, and these with their types. */
const lane = {
  id: "bigint",
  application_id: "bigint",
  subscription_id: "bigint",
  object_type: "\"char\"",
  object_id: "bigint"
}
export const laneColumns = Object.keys(lane)
export const laneTypes = Object.entries(lane).map(([name, type]) => `${name} ${type}`).join(", ")

/** The variables of the function with these columns. */
const arrays = "ended, applications, subscriptions, types, objects"

/**
 * Records attempts whose claim still holds: ending a delivery ends its claim. `$1` is a JSON array of settlements.
 * `into` is the INTO clause of the function, for the recorded identifiers, and the ended ones with their ordering keys.
 *
 * Lock order: saves take FOR KEY SHARE on heads by ascending id, and so does this UPDATE. It conflicts with them
 * because `state` is part of a unique index. An explicit lock first would double the cost.
 */
export const recordText = (p: string, into = ""): string => `
  WITH input AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json)
      AS i(id bigint, application_id bigint, token text, state "char", attempts json, due_at bigint, ended_at bigint) ORDER BY id
  ),
  settled AS (
    UPDATE ${p}deliveries d SET state = i.state, attempts = i.attempts, due_at = i.due_at, ended_at = i.ended_at,
      claim_token = NULL, lease_ends = NULL, claims = 0
    FROM input i WHERE d.id = i.id AND d.application_id = i.application_id AND d.claim_token = i.token
    RETURNING d.id, d.state, d.application_id, d.subscription_id, d.object_type, d.object_id
  )
  SELECT array_agg(id), ${laneColumns.map((name) => `array_agg(${name}) FILTER (WHERE state <> 'p')`).join(", ")}
  ${into} FROM settled`

/** The next pending delivery of each ordering key after ended deliveries `e`, with its application. */
const nextText = ({ isDivided, prefix: p }: Layout, ended: string): string => {
  const isNext = `n.subscription_id = e.subscription_id AND n.object_type = e.object_type AND n.object_id = e.object_id
        AND n.state = 'p' AND n.id > e.id`
  return isDivided
    ? `
    SELECT min(n.id) AS id, n.application_id FROM ${ended} JOIN ${p}deliveries n
      ON n.application_id = e.application_id AND ${isNext}
    GROUP BY n.application_id, n.subscription_id, n.object_type, n.object_id`
    : `
    SELECT next.id, next.application_id FROM ${ended} CROSS JOIN LATERAL (
      SELECT n.id, n.application_id FROM ${p}deliveries n WHERE ${isNext} ORDER BY n.id LIMIT 1
    ) next ORDER BY next.id OFFSET 0`
}

/**
 * Makes the next delivery of each ordering key its head, after ended deliveries. `ended` is a table `e` of these, with
 * `laneColumns`. The scan starts at their identifiers, which skips dead entries.
 */
export const promoteText = (layout: Layout, ended: string): string => `
  UPDATE ${layout.prefix}deliveries d SET head = true
  FROM (${nextText(layout, ended)}
  ) i
  WHERE d.id = i.id AND d.application_id = i.application_id AND NOT d.head`

/**
 * Two statements in one transaction: only a later snapshot has deliveries that were queued while the first statement
 * waited, and in a volatile function, each statement has its own snapshot.
 *
 * Looks up each delivery by its identifier, in order. With statistics of few pending deliveries, the planner would
 * compare all settlements with all of them.
 */
export const settleFunction = (layout: Layout): string => {
  const { isDivided, prefix: p } = layout
  const settlements = `json_to_recordset($1::json) AS e(state "char", object text) WHERE state <> 'p'`
  return `
CREATE OR REPLACE FUNCTION ${p}settle(json) RETURNS json LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  recorded bigint[];
  ended bigint[];
  applications bigint[];
  subscriptions bigint[];
  types "char"[];
  objects bigint[];
BEGIN ${isDivided ? `${lockEnded(p, settlements)};` : ""}
  ${recordText(p, `INTO recorded, ${arrays}`)};
  ${promoteText(layout, `unnest(${arrays}) e(${laneColumns.join(", ")})`)};
  RETURN coalesce(to_json(recorded), '[]');
END
$$`
}
