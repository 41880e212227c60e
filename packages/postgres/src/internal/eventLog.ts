/**
 * The event log of an application (law 12).
 *
 * A delivery gets its position when it is first read, and readers of one application wait for each other. So nothing
 * can be committed before a returned position, even in long transactions. Row numbers do not guarantee this: they are
 * drawn before the commit. Transaction identifiers do not survive a dump, and do not order the changes of one object.
 */
import { type DeliveryStore, type LogEntry, type LogRequest, UnknownPosition } from "@startlist/core/Delivery"
import type { StoreError } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import { type Database, inTime } from "../Database.ts"
import { deliveryColumns, type DeliveryRow, toDelivery } from "./deliveryRows.ts"
import type { Int8 } from "./rows.ts"

/** The position of a delivery that is not in the log: it repeats another one. */
export const notLogged = "0"

interface LogRow extends DeliveryRow {
  readonly log_position: Int8
}

export const make = ({ prefix: p, query, transaction }: Database.Service): DeliveryStore.Service["log"] => {
  const page = {
    name: `${p}log_page`,
    text: `SELECT ${deliveryColumns}, d.log_position FROM ${p}deliveries d
      WHERE d.application_id = $1::bigint AND d.log_position > $2::bigint
      ORDER BY d.log_position LIMIT $3::integer`
  }
  const last = {
    name: `${p}log_last`,
    text: `SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS position FROM ${p}log_positions`
  }
  const isNew = {
    name: `${p}log_new`,
    text: `SELECT id FROM ${p}deliveries WHERE application_id = $1::bigint AND log_position IS NULL LIMIT 1`
  }
  const lock = {
    name: `${p}log_lock`,
    text: `SELECT pg_advisory_xact_lock(hashtextextended('${p}log ' || $1::bigint, 0))::text`
  }
  // Its snapshot is younger than the lock, so that it sees what readers before it have numbered. It waits for the first row,
  // and then for no other: a settlement locks rows in an order of its own, and both could wait for each other. Rows without
  // a position are ordered by it too, because only that is the order of the index. Citus has the sequence on the coordinator,
  // and draws from it there in an UPDATE only.
  const number = {
    name: `${p}log_number`,
    text: `WITH first AS MATERIALIZED (
        SELECT id FROM ${p}deliveries WHERE application_id = $1::bigint AND log_position IS NULL
        ORDER BY log_position, id LIMIT 1 FOR NO KEY UPDATE
      ),
      fresh AS MATERIALIZED (
        SELECT id FROM ${p}deliveries
        WHERE application_id = $1::bigint AND log_position IS NULL AND id >= (SELECT id FROM first)
        ORDER BY log_position, id LIMIT $2::integer
      ),
      locked AS MATERIALIZED (
        SELECT id FROM ${p}deliveries WHERE application_id = $1::bigint AND id = ANY (ARRAY(SELECT id FROM fresh))
        FOR NO KEY UPDATE SKIP LOCKED
      ),
      numbered AS MATERIALIZED (
        SELECT id, total, nextval('${p}log_positions') AS position FROM (
          SELECT f.id, count(*) OVER ()::integer AS total, bool_and(l.id IS NOT NULL) OVER (ORDER BY f.id) AS is_reached
          FROM fresh f LEFT JOIN locked l ON l.id = f.id ORDER BY f.id
        ) r WHERE is_reached
      )
      UPDATE ${p}deliveries d SET log_position = n.position FROM numbered n
      WHERE d.id = n.id AND d.application_id = $1::bigint RETURNING n.total`
  }

  const read = ({ after, applicationId, limit }: LogRequest): Effect.Effect<ReadonlyArray<LogEntry>, StoreError> =>
    Effect.map(
      query<LogRow>(page, [applicationId, after, limit]),
      (rows) => rows.map((row) => ({ position: Number(row.log_position), delivery: toDelivery(row) }))
    )

  const numberAndRead = (request: LogRequest): Effect.Effect<ReadonlyArray<LogEntry>, StoreError> =>
    query(lock, [request.applicationId]).pipe(
      Effect.zipRight(query<{ readonly total: number }>(number, [request.applicationId, request.limit])),
      Effect.zip(read(request)),
      transaction,
      Effect.flatMap(([numbered, page]) => {
        const isCut = numbered.some(({ total }) => numbered.length < total) && page.length < request.limit
        return isCut ? numberAndRead(request) : Effect.succeed(page)
      })
    )

  const checkPosition = ({ after }: LogRequest): Effect.Effect<void, UnknownPosition | StoreError> =>
    Effect.flatMap(
      query<{ readonly position: Int8 }>(last, []),
      ([given]) => after > Number(given?.position) ? new UnknownPosition() : Effect.void
    )

  return (request) =>
    Effect.gen(function*() {
      // Before the page is read: what another reader numbers in between is on the page.
      if ((yield* query(isNew, [request.applicationId])).length > 0) {
        yield* checkPosition(request)
        // Each transaction has a deadline, and this is the one of all.
        return yield* inTime(numberAndRead(request))
      }
      const entries = yield* read(request)
      if (entries.length === 0) yield* checkPosition(request)
      return entries
    })
}
