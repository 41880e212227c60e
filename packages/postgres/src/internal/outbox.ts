/** The part of a save that queues the deliveries of its events: SQL fragments, because a save is one statement. */
import type { Outgoing } from "@startlist/core/Event"
import type { Layout } from "../Database.ts"
import { lookup } from "./divided.ts"
import { eventColumns, fromEvent } from "./rows.ts"

/** The names of the columns of an event, and these with their types. */
export const eventNames = Object.keys(eventColumns).join(", ")
export const eventTypes = Object.entries(eventColumns).map(([name, type]) => `${name} ${type}`).join(", ")

/**
 * The parameter of `outbox`. All events of a batch are in one list, each with the position of its change: parsing a list
 * inside each change would cost as much as the change.
 */
export const outgoingParameter = (changes: ReadonlyArray<{ readonly outgoing: ReadonlyArray<Outgoing> }>): string =>
  JSON.stringify(
    changes
      .flatMap(({ outgoing }, place) => outgoing.map(({ audience, event }) => ({ place, audience, event })))
      .map(({ audience, event, place }, number) =>
        Object.assign(fromEvent(event), {
          number,
          place,
          audience_id: audience._tag === "Application" ? audience.applicationId : null,
          user_ids: audience._tag === "GrantedBy" ? audience.userIds : null
        })
      )
  )

/**
 * CTEs `heads` and `held`: whether a new delivery of object `o` to subscription `t` is the first of its ordering key.
 *
 * One scan finds the heads of an object for all subscriptions.
 *
 * Locks the heads against concurrent settling, which could otherwise choose the next head without the new delivery.
 * Locks in the order of identifiers, like settling, and with no other condition, so that the planner uses the primary key
 * and reads the locked state.
 */
const lockedLanes = (p: string): string => `
heads AS (
  SELECT h.id FROM (SELECT DISTINCT object_type, object_id FROM targets) o CROSS JOIN LATERAL (
    SELECT d.id FROM ${p}deliveries d
    WHERE d.object_id = o.object_id AND d.object_type = o.object_type AND d.state = 'p' AND d.head
    ORDER BY d.id OFFSET 0
  ) h
),
held AS (
  SELECT d.subscription_id, d.object_type, d.object_id FROM (
    SELECT d.* FROM ${p}deliveries d WHERE d.id = ANY (ARRAY(SELECT id FROM heads)) ORDER BY d.id OFFSET 0 FOR KEY SHARE
  ) d WHERE d.state = 'p'
)`

/** The same in divided tables: `Locks.queueing` keeps settling away. */
const dividedLanes = (p: string): string => `
held AS MATERIALIZED (
  SELECT DISTINCT d.subscription_id, d.object_type, d.object_id FROM targets t JOIN ${p}deliveries d
    ON d.application_id = t.application_id AND d.subscription_id = t.subscription_id
    AND d.object_type = t.object_type AND d.object_id = t.object_id
  WHERE d.state = 'p' AND d.head
)`

/** CTE `held`: the ordering keys of `targets` that have a pending head. */
export const lanes = ({ isDivided, prefix: p }: Layout): string => (isDivided ? dividedLanes : lockedLanes)(p)

/** Inserts a delivery for each of `targets`. Needs `lanes`. `position` is the position in the event log. */
export const insertDeliveries = (p: string, position = "NULL::bigint"): string => `
  INSERT INTO ${p}deliveries
    (application_id, subscription_id, ${eventNames}, state, head, due_at, log_position)
  SELECT t.application_id, t.subscription_id, ${eventNames}, 'p', NOT EXISTS (
      SELECT FROM held h
      WHERE h.subscription_id = t.subscription_id AND h.object_type = t.object_type AND h.object_id = t.object_id
    ), t.due_at, ${position}
  FROM targets t ORDER BY t.number, t.subscription_id
  RETURNING id`

/**
 * The CTEs that queue the events in the column `outgoing` of `source`, a single row. The last one, `told`, has one row
 * per delivery. With `saved`, only events whose position is among its rows.
 *
 * Lateral lookups use indexes for any expected number of rows: the planner expects 100 per JSON list and 10 per array,
 * and would prepare for their product. Subscriptions are locked against removal, so that a removal is either earlier
 * (the lock finds no row) or sees these deliveries. Grants of an earlier epoch of their application are ignored.
 */
export const outbox = (layout: Layout, source: string, saved?: string): string => {
  const { prefix: p } = layout
  return `
outgoing AS MATERIALIZED (
  SELECT o.* FROM ${source} CROSS JOIN LATERAL json_to_recordset(${source}.outgoing) AS o(
    number integer, place integer, audience_id bigint, user_ids bigint[], ${eventTypes}
  )${saved === undefined ? "" : ` WHERE o.place = ANY (ARRAY(SELECT place FROM ${saved}))`}
),
concerned AS MATERIALIZED (
  SELECT o.number, o.audience_id AS application_id, NULL::integer AS epoch
  FROM outgoing o WHERE o.audience_id IS NOT NULL
  UNION
  SELECT o.number, g.application_id, g.application_epoch
  FROM (SELECT o.number, unnest(o.user_ids) AS user_id FROM outgoing o) o ${
    lookup(layout, "grants", "g", "g.user_id = o.user_id AND g.active")
  }
  ORDER BY application_id
),
heard AS MATERIALIZED (
  SELECT s.application_id, s.id, a.epoch
  FROM (SELECT DISTINCT application_id FROM concerned ORDER BY application_id) c ${
    lookup(layout, "subscriptions", "s", "s.application_id = c.application_id", "FOR KEY SHARE")
  } ${lookup(layout, "applications", "a", "a.id = s.application_id")}
),
targets AS MATERIALIZED (
  SELECT c.number, c.application_id, h.id AS subscription_id, ${eventNames}, event_time AS due_at
  FROM concerned c JOIN heard h ON h.application_id = c.application_id AND coalesce(c.epoch, h.epoch) = h.epoch
    JOIN outgoing o ON o.number = c.number
),
${lanes(layout)},
told AS (${insertDeliveries(p)})`
}
