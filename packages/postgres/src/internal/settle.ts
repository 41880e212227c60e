/**
 * The recording of attempts, as a function in the database: one call in place of a transaction of two statements.
 *
 * A migration created this function. To change it, add a migration that replaces it.
 */

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
      AS i(id bigint, token text, state "char", attempts json, due_at bigint, ended_at bigint) ORDER BY id
  ),
  settled AS (
    UPDATE ${p}deliveries d SET state = i.state, attempts = i.attempts, due_at = i.due_at, ended_at = i.ended_at,
      claim_token = NULL, lease_ends = NULL, claims = 0
    FROM input i WHERE d.id = i.id AND d.claim_token = i.token
    RETURNING d.id, d.state, d.subscription_id, d.object_type, d.object_id
  )
  SELECT array_agg(id), array_agg(id) FILTER (WHERE state <> 'p'), array_agg(subscription_id) FILTER (WHERE state <> 'p'),
    array_agg(object_type) FILTER (WHERE state <> 'p'), array_agg(object_id) FILTER (WHERE state <> 'p')
  ${into} FROM settled`

/**
 * Makes the next delivery of each ordering key its head, after ended deliveries. The parameters are arrays of the ended
 * identifiers and the columns of their ordering keys. The scan starts at these identifiers, which skips dead entries.
 */
export const promoteText = (p: string, ids: string, subscriptions: string, types: string, objects: string): string => `
  UPDATE ${p}deliveries d SET head = true
  WHERE d.id = ANY (ARRAY(
    SELECT next.id FROM unnest(${ids}, ${subscriptions}, ${types}, ${objects}) e(id, subscription_id, object_type, object_id)
    CROSS JOIN LATERAL (
      SELECT n.id FROM ${p}deliveries n
      WHERE n.subscription_id = e.subscription_id AND n.object_type = e.object_type AND n.object_id = e.object_id
        AND n.state = 'p' AND n.id > e.id
      ORDER BY n.id LIMIT 1
    ) next
  )) AND NOT d.head`

/**
 * Two statements in one transaction: only a later snapshot has deliveries that were queued while the first statement
 * waited, and in a volatile function, each statement has its own snapshot.
 *
 * Looks up each delivery by its identifier, in order. With statistics of few pending deliveries, the planner would
 * compare all settlements with all of them.
 */
export const settleFunction = (p: string): string => `
CREATE FUNCTION ${p}settle(json) RETURNS json LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  recorded bigint[];
  ended bigint[];
  subscriptions bigint[];
  types "char"[];
  objects bigint[];
BEGIN ${recordText(p, "INTO recorded, ended, subscriptions, types, objects")};
  ${promoteText(p, "ended", "subscriptions", "types", "objects")};
  RETURN coalesce(to_json(recorded), '[]');
END
$$`
