/**
 * The recording of attempts, as a function in the database: one call in place of a transaction of two statements.
 *
 * A step of the migrations created this function. To change it, add a step that replaces it.
 */

/**
 * Records attempts whose claim is still the delivery's own: who ends a delivery ends its claim. `$1` is a JSON array of
 * settlements; `into` goes between what is selected and its source: in the function, the variables for the identifiers
 * that were recorded, and for those that have ended, with their lanes.
 *
 * Saves hold the heads of lanes by FOR KEY SHARE, and in the order of identifiers, as it goes here. An update waits for
 * that if it changes a column of a unique index, as the state is: to lock the rows before costs as much as to find them.
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
 * Puts the next of each lane in front, for deliveries that have ended: these are arrays of their identifiers and the
 * columns of their lanes. The others came behind the front. Starting there skips the dead entries before it.
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
 * Two statements: what was queued while the first waited is seen by a later snapshot only, and the next of each lane
 * must be put in front together with the end of its predecessor. In a volatile function each statement has a snapshot
 * of its own.
 *
 * Each delivery is looked up by its identifier, in their order, whatever the statistics say: where they knew of few that
 * are pending, the planner compared all settlements with all of these.
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
