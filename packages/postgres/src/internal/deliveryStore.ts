/** The store of deliveries and their attempts. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  type DeliveryFilter,
  type DeliveryStore,
  type LogEntry,
  type LogRequest,
  UnknownPosition
} from "@startlist/core/Delivery"
import type { StoreError } from "@startlist/core/Store"
import { type Database, inTime, type Statement } from "../Database.ts"
import {
  type AttemptRow,
  deliveryColumns,
  type DeliveryRow,
  type Int8,
  millisOf,
  millisOrNull,
  objectLetters,
  stateLetters,
  toAttempt,
  toDelivery,
  toDeliveryId
} from "./rows.ts"

interface RepeatRow extends DeliveryRow {
  readonly original: Int8
}

export const make = (database: Database.Service): DeliveryStore.Service => {
  const { dialect, prefix: p, query } = database
  const find = {
    name: `${p}delivery_find`,
    text: `SELECT ${deliveryColumns} FROM ${p}deliveries d WHERE d.id = $1::bigint`
  }
  const lettersOf = (state: DeliveryFilter["state"]) =>
    Option.isSome(state) ? [stateLetters[state.value]] : Object.values(stateLetters)
  /** Merges the next deliveries of each state, in the order of an index, so that few other rows are read. */
  const list = ({ applicationId, order, state }: DeliveryFilter): Statement => {
    const letters = lettersOf(state)
    const [comparison, direction] = order === undefined ? ["<", "DESC"] : [">", "ASC"]
    const [name, conditionOf] = Option.isSome(applicationId)
      ? ["_application", (letter: string) => `x.application_id = $3::bigint AND x.state = '${letter}'`] as const
      : ["", (letter: string) => `x.state::text = '${letter}'`] as const
    const next = (letter: string) => `
        SELECT * FROM (
          SELECT * FROM ${p}deliveries x WHERE ${conditionOf(letter)} AND x.id ${comparison} $1::bigint
          ORDER BY x.id ${direction} LIMIT $2::integer
        ) ${letter}`
    return {
      name: `${p}delivery_list${name}_${letters.join("")}_${direction}`,
      text: `SELECT ${deliveryColumns}
      FROM (${letters.map(next).join(" UNION ALL ")}) d
      ORDER BY d.id ${direction} LIMIT $2::integer`
    }
  }
  /** The newest deliveries before $1, $2 of them, from the index in each state: of the application $3, or of all. */
  const newestOf = (columns: string, states: ReadonlyArray<string>, isOfAll = false) =>
    `(
        ${
      states.map((letter) =>
        `SELECT * FROM (
          SELECT ${columns} FROM ${p}deliveries x
          WHERE ${
          isOfAll
            ? `$3::bigint IS NULL AND x.state::text = '${letter}'`
            : `x.application_id = $3::bigint AND x.state = '${letter}'`
        } AND x.id < $1::bigint
          ORDER BY x.id DESC LIMIT $2::integer
        ) ${letter}`
      ).join(" UNION ALL ")
    } ORDER BY id DESC LIMIT $2::integer
      )`
  /** It ends when it has found enough. Its rows are narrow but for those that it has found. */
  const search = (letters: ReadonlyArray<string>, isOfAll: boolean): Statement => ({
    name: `${p}delivery_search_${letters.join("")}${isOfAll ? "_all" : ""}`,
    text: `SELECT ${deliveryColumns} FROM (
        SELECT n.id, n.application_id
        FROM ${
      newestOf("x.id, x.application_id, x.event_id, x.object_type, x.object_id, x.event_time", letters, isOfAll)
    } n
        WHERE ($8::json IS NULL OR n.object_type::text || ':' || n.object_id
            = ANY (ARRAY(SELECT value FROM json_array_elements_text($8::json))))
          AND ($5::text IS NULL OR n.event_id = $5::text OR n.object_id::text = $5::text)
          AND ($6::bigint IS NULL OR n.event_time >= $6::bigint) AND ($7::bigint IS NULL OR n.event_time < $7::bigint)
        ORDER BY n.id DESC LIMIT $4::integer
      ) f ${dialect.lookup("deliveries", "d", "d.id = f.id AND d.application_id = f.application_id")}
      ORDER BY d.id DESC`
  })
  /** The last delivery that a search has examined, if it examined as many as it may. */
  const examined = (letters: ReadonlyArray<string>, isOfAll: boolean): Statement => ({
    name: `${p}delivery_examined_${letters.join("")}${isOfAll ? "_all" : ""}`,
    text: `SELECT n.id FROM ${newestOf("x.id", letters, isOfAll)} n ORDER BY n.id DESC OFFSET $2::integer - 1 LIMIT 1`
  })
  // The texts as they are: to take them apart and to count here would cost five times as much.
  const attempts = {
    name: `${p}delivery_attempts`,
    text: `SELECT '[' || string_agg(n.attempts::text, ',') || ']' AS attempts
      FROM ${newestOf("x.id, x.attempts, x.ended_at", Object.values(stateLetters))} n
      WHERE n.ended_at IS NULL OR n.ended_at >= $4::bigint`
  }
  const repeats = {
    name: `${p}delivery_repeats`,
    text: `SELECT i.id AS original, ${deliveryColumns}
      FROM json_to_recordset($1::json) AS i(id bigint, application_id bigint, event_id text) ${
      dialect.lookup(
        "deliveries",
        "d",
        `d.application_id = i.application_id AND d.event_id = i.event_id AND d.log_position = ${notLogged} AND d.id > i.id`
      )
    }
      ORDER BY (d.state = 'd'), d.id`
  }
  const purge = {
    name: `${p}delivery_purge`,
    text: `DELETE FROM ${p}deliveries WHERE id = ANY (ARRAY(
        SELECT id FROM ${p}deliveries WHERE ended_at <= $1::bigint
        ORDER BY ended_at LIMIT $2::integer ${dialect.rowLock("FOR UPDATE SKIP LOCKED")}
      )) RETURNING id`
  }

  return {
    find: (id) =>
      Effect.map(query<DeliveryRow>(find, [id]), ([row]) => Option.map(Option.fromNullable(row), toDelivery)),
    list: (filter) => {
      const start = filter.order === undefined ? Number.MAX_SAFE_INTEGER : 0
      const page = [Option.getOrElse(filter.after, () => start), filter.limit, ...Option.toArray(filter.applicationId)]
      return Effect.map(query<DeliveryRow>(list(filter), page), (rows) => rows.map(toDelivery))
    },
    search: ({ after, among, applicationId, limit, objects, since, state, text, until }) =>
      Effect.gen(function*() {
        const letters = lettersOf(state)
        const isOfAll = Option.isNone(applicationId)
        const start = Option.getOrElse(after, () => Number.MAX_SAFE_INTEGER)
        const newest = [start, among, Option.getOrNull(applicationId)]
        const about = objects?.map(({ objectId, objectType }) => `${objectLetters[objectType]}:${objectId}`)
        const wanted = [Option.getOrNull(text), millisOrNull(since), millisOrNull(until), JSON.stringify(about) ?? null]
        const rows = yield* query<DeliveryRow>(search(letters, isOfAll), [...newest, limit + 1, ...wanted])
        const deliveries = rows.slice(0, limit).map(toDelivery)
        if (rows.length > limit) return { deliveries, next: Option.fromNullable(deliveries.at(-1)?.id) }
        const [last] = yield* query<{ readonly id: Int8 }>(examined(letters, isOfAll), newest)
        return { deliveries, next: Option.map(Option.fromNullable(last), ({ id }) => toDeliveryId(id)) }
      }),
    attempts: (id, since, among) =>
      Effect.map(
        query<{ readonly attempts: string | null }>(attempts, [Number.MAX_SAFE_INTEGER, among, id, millisOf(since)]),
        ([row]) => {
          const all: ReadonlyArray<ReadonlyArray<AttemptRow>> = JSON.parse(row?.attempts ?? "[]")
          return all.flat().filter(([at]) => at >= since.epochMillis).map(toAttempt)
        }
      ),
    repeats: (deliveries) => {
      const originals = deliveries.map(({ applicationId, event, id }) => ({
        id,
        application_id: applicationId,
        event_id: event.id
      }))
      return deliveries.length === 0 ? Effect.succeed(new Map()) : Effect.map(
        query<RepeatRow>(repeats, [JSON.stringify(originals)]),
        // The last one of an original remains.
        (rows) => new Map(rows.map((row) => [toDeliveryId(row.original), toDelivery(row)]))
      )
    },
    log: makeLog(database),
    purge: (endedBefore, limit) =>
      Effect.zipRight(
        dialect.steps(database).repair,
        Effect.map(query(purge, [millisOf(endedBefore), limit]), (removed) => removed.length)
      )
  }
}

/** The position of a delivery that is not in the log: it repeats another one. */
export const notLogged = "0"

interface LogRow extends DeliveryRow {
  readonly log_position: Int8
}

/**
 * The event log of an application (law 12).
 *
 * A delivery gets its position when it is first read, and readers of one application wait for each other. So nothing
 * can be committed before a returned position, even in long transactions. Row numbers do not guarantee this: they are
 * drawn before the commit. Transaction identifiers do not survive a dump, and do not order the changes of one object.
 */
export const makeLog = ({ dialect, prefix: p, query, transaction }: Database.Service): DeliveryStore.Service["log"] => {
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
    text: `SELECT id FROM ${p}deliveries WHERE application_id = $1::bigint AND log_position IS NULL
      ORDER BY log_position, id LIMIT 1`
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
        SELECT id FROM ${p}deliveries WHERE ${dialect.ofApplication("$1")}id = ANY (ARRAY(SELECT id FROM fresh))
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
