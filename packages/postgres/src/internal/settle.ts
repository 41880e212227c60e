/**
 * The recording of attempts, as a function in the database: one call in place of a transaction of two statements.
 *
 * What is here was taken as a step of the migrations: to change it, add a step that replaces the function.
 */

/**
 * Records attempts whose claim is still the delivery's own. `$1` is a JSON array of settlements; `into` goes between
 * what is selected and its source: in the function, the variable for the identifiers that were recorded.
 *
 * FOR UPDATE, because saves hold the heads of lanes by FOR KEY SHARE; in the order of identifiers, as they do. Each is
 * looked up by its identifier alone (OFFSET keeps the other conditions out), whatever the statistics say of pending
 * deliveries: where they knew of few, the planner expected one row, and compared all settlements with all.
 */
export const recordText = (p: string, into = ""): string => `
  WITH input AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json)
      AS i(id bigint, token text, state "char", attempts json, due_at bigint, ended_at bigint) ORDER BY id
  ),
  held AS MATERIALIZED (
    SELECT i.* FROM input i CROSS JOIN LATERAL (
      SELECT d.state, d.claim_token FROM ${p}deliveries d WHERE d.id = i.id OFFSET 0 FOR UPDATE
    ) d
    WHERE d.state = 'p' AND d.claim_token = i.token
  ),
  settled AS (
    UPDATE ${p}deliveries d SET state = h.state, attempts = h.attempts, due_at = h.due_at, ended_at = h.ended_at,
      claim_token = NULL, lease_ends = NULL
    FROM held h WHERE d.id = h.id
    RETURNING d.id
  )
  SELECT array_agg(id) ${into} FROM settled`

/** Puts the next of each lane in front, for those of the deliveries `ids` that have ended. */
export const promoteText = (p: string, ids: string): string => `
  UPDATE ${p}deliveries d SET head = true
  WHERE d.id = ANY (ARRAY(
    SELECT next.id FROM ${p}deliveries e
    CROSS JOIN LATERAL (
      SELECT n.id FROM ${p}deliveries n
      WHERE n.subscription_id = e.subscription_id AND n.object_type = e.object_type AND n.object_id = e.object_id
        AND n.state = 'p'
      ORDER BY n.id LIMIT 1
    ) next
    WHERE e.id = ANY (${ids}) AND e.state <> 'p'
  )) AND NOT d.head`

/**
 * Two statements: what was queued while the first waited is seen by a later snapshot only, and the next of each lane
 * must be put in front together with the end of its predecessor. In a volatile function each statement has a snapshot
 * of its own.
 */
export const settleFunction = (p: string): string => `
CREATE OR REPLACE FUNCTION ${p}settle(json) RETURNS json LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  recorded bigint[];
BEGIN ${recordText(p, "INTO recorded")};
  ${promoteText(p, "recorded")};
  RETURN coalesce(to_json(recorded), '[]');
END
$$`
