/** The part of a save that queues the deliveries of its events: SQL fragments, because a save is one statement. */
import type { Event, Outgoing } from "@startlist/core/Event"
import * as Option from "effect/Option"
import { millisOf } from "./rows.ts"

/** One letter in the narrow delivery rows. */
export const objectLetters: Readonly<Record<Event["objectType"], string>> = {
  registration: "r",
  athlete: "a",
  organizer: "o"
}

/**
 * Events for `outbox`. All events of a batch are in one list, each with the position of its change: parsing a list
 * inside each change would cost as much as the change.
 */
export const outgoingOf = (outgoing: ReadonlyArray<Outgoing>, place = 0): ReadonlyArray<unknown> =>
  outgoing.map(({ audience, event }) => ({
    place,
    id: event.id,
    aspect_type: event.aspectType,
    object_type: event.objectType,
    letter: objectLetters[event.objectType],
    object_id: event.objectId,
    updates: "platform_id" in event.updates ? event.updates : null,
    time: millisOf(event.time),
    trace: Option.getOrUndefined(event.trace),
    application_id: audience._tag === "Application" ? audience.applicationId : null,
    user_ids: audience._tag === "GrantedBy" ? audience.userIds : null
  }))

/** The parameter with the events of a batch of changes. */
export const outgoingParameter = (changes: ReadonlyArray<{ readonly outgoing: ReadonlyArray<Outgoing> }>): string =>
  JSON.stringify(changes.flatMap(({ outgoing }, place) => outgoingOf(outgoing, place)))

/**
 * CTEs `heads` and `held`: whether a new delivery of object `o` to subscription `t` is the first of its ordering key.
 *
 * Locks the heads against concurrent settling, which could otherwise choose the next head without the new delivery.
 * Locks in the order of identifiers, like settling, and with no other condition (OFFSET), so that the planner uses the
 * primary key and reads the locked state.
 */
export const lanes = (p: string): string => `
heads AS (
  SELECT h.id FROM (SELECT DISTINCT letter, object_id FROM targets) o CROSS JOIN LATERAL (
    SELECT d.id FROM ${p}deliveries d
    WHERE d.object_id = o.object_id AND d.object_type = o.letter AND d.state = 'p' AND d.head
    ORDER BY d.id OFFSET 0
  ) h
),
held AS (
  SELECT d.subscription_id, d.object_type, d.object_id FROM (
    SELECT d.* FROM ${p}deliveries d WHERE d.id = ANY (ARRAY(SELECT id FROM heads)) ORDER BY d.id OFFSET 0 FOR KEY SHARE
  ) d WHERE d.state = 'p'
)`

/** Inserts a delivery for each of `targets`. Needs `lanes`. `position` is the position in the event log. */
export const insertDeliveries = (p: string, position = "NULL::bigint"): string => `
  INSERT INTO ${p}deliveries
    (application_id, subscription_id, event_seq, object_type, object_id, state, head, due_at, log_position)
  SELECT t.application_id, t.subscription_id, t.seq, t.letter, t.object_id, 'p', NOT EXISTS (
      SELECT FROM held h
      WHERE h.subscription_id = t.subscription_id AND h.object_type = t.letter AND h.object_id = t.object_id
    ), t.time, ${position}
  FROM targets t ORDER BY t.seq, t.subscription_id
  RETURNING id, due_at`

/**
 * The CTEs that queue the events in the column `outgoing` of `source`, a single row. The last one, `told`, has one row
 * per delivery. With `saved`, only events whose position is among its rows.
 *
 * Lateral lookups use indexes for any expected number of rows: the planner expects 100 per JSON list and 10 per array,
 * and would prepare for their product. Subscriptions are locked against removal, so that a removal is either earlier
 * (the lock finds no row) or sees these deliveries. Grants of an earlier epoch of their application are ignored.
 */
export const outbox = (p: string, source: string, saved?: string): string => `
outgoing AS MATERIALIZED (
  SELECT nextval('${p}events_seq_seq') AS seq, o.*
  FROM ${source} CROSS JOIN LATERAL json_to_recordset(${source}.outgoing) AS o(
    place integer, id text, aspect_type text, object_type text, letter "char", object_id bigint, updates json,
    time bigint, trace text, application_id bigint, user_ids bigint[]
  )${saved === undefined ? "" : ` WHERE o.place = ANY (ARRAY(SELECT place FROM ${saved}))`}
),
concerned AS MATERIALIZED (
  SELECT o.seq, o.letter, o.object_id, o.time, o.application_id, NULL::integer AS epoch
  FROM outgoing o WHERE o.application_id IS NOT NULL
  UNION
  SELECT o.seq, o.letter, o.object_id, o.time, g.application_id, g.application_epoch
  FROM outgoing o CROSS JOIN LATERAL (
    SELECT g.application_id, g.application_epoch FROM ${p}grants g
    WHERE g.user_id = ANY (o.user_ids) AND g.active OFFSET 0
  ) g
  ORDER BY application_id
),
heard AS MATERIALIZED (
  SELECT s.application_id, s.id, a.epoch
  FROM (SELECT DISTINCT application_id FROM concerned ORDER BY application_id) c CROSS JOIN LATERAL (
    SELECT s.application_id, s.id FROM ${p}subscriptions s WHERE s.application_id = c.application_id FOR KEY SHARE
  ) s CROSS JOIN LATERAL (SELECT a.epoch FROM ${p}applications a WHERE a.id = s.application_id OFFSET 0) a
),
targets AS MATERIALIZED (
  SELECT c.seq, c.letter, c.object_id, c.time, c.application_id, h.id AS subscription_id
  FROM concerned c JOIN heard h ON h.application_id = c.application_id AND coalesce(c.epoch, h.epoch) = h.epoch
),
${lanes(p)},
kept AS (
  INSERT INTO ${p}events (seq, id, aspect_type, object_type, object_id, updates, time, trace, remaining)
  SELECT o.seq, o.id, o.aspect_type, o.object_type, o.object_id, o.updates, o.time, o.trace, t.count
  FROM outgoing o JOIN (SELECT seq, count(*) AS count FROM targets GROUP BY seq) t ON t.seq = o.seq
),
told AS (${insertDeliveries(p)})`
