/** The store of deliveries and their attempts. */
import type { DeliveryFilter, DeliveryStore } from "@startlist/core/Delivery"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database, Statement } from "../Database.ts"
import { lookup, rowLock } from "./divided.ts"
import * as EventLog from "./eventLog.ts"
import { deliveryColumns, type DeliveryRow, stateLetters, toDelivery, toDeliveryId } from "./deliveryRows.ts"
import { type Int8, millisOf } from "./rows.ts"

interface RepeatRow extends DeliveryRow {
  readonly original: Int8
}

export const make = (database: Database.Service): DeliveryStore.Service => {
  const { isDivided, prefix: p, query } = database
  const find = {
    name: `${p}delivery_find`,
    text: `SELECT ${deliveryColumns} FROM ${p}deliveries d WHERE d.id = $1::bigint`
  }
  /** Merges the next deliveries of each state, in the order of an index, so that few other rows are read. */
  const list = ({ applicationId, order, state }: DeliveryFilter): Statement => {
    const letters = Option.isSome(state) ? [stateLetters[state.value]] : Object.values(stateLetters)
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
  const repeats = {
    name: `${p}delivery_repeats`,
    text: `SELECT i.id AS original, ${deliveryColumns}
      FROM json_to_recordset($1::json) AS i(id bigint, application_id bigint, event_id text) ${
      lookup(
        database,
        "deliveries",
        "d",
        `d.application_id = i.application_id AND d.event_id = i.event_id AND d.log_position = ${EventLog.notLogged} AND d.id > i.id`
      )
    }
      ORDER BY (d.state = 'd'), d.id`
  }
  const purge = {
    name: `${p}delivery_purge`,
    text: `DELETE FROM ${p}deliveries WHERE id = ANY (ARRAY(
        SELECT id FROM ${p}deliveries WHERE ended_at <= $1::bigint
        ORDER BY ended_at LIMIT $2::integer ${rowLock(database, "FOR UPDATE SKIP LOCKED")}
      )) RETURNING id`
  }
  // A save that reads the shard of an ended delivery, whose transaction is still in doubt there, makes no head.
  const lead = {
    name: `${p}delivery_lead`,
    text: `UPDATE ${p}deliveries d SET head = true WHERE d.state = 'p' AND NOT d.head AND NOT EXISTS (
        SELECT FROM ${p}deliveries b WHERE b.application_id = d.application_id AND b.subscription_id = d.subscription_id
          AND b.object_type = d.object_type AND b.object_id = d.object_id AND b.id < d.id AND b.state = 'p'
      )`
  }

  return {
    find: (id) =>
      Effect.map(query<DeliveryRow>(find, [id]), ([row]) => Option.map(Option.fromNullable(row), toDelivery)),
    list: (filter) => {
      const start = filter.order === undefined ? Number.MAX_SAFE_INTEGER : 0
      const page = [Option.getOrElse(filter.after, () => start), filter.limit, ...Option.toArray(filter.applicationId)]
      return Effect.map(query<DeliveryRow>(list(filter), page), (rows) => rows.map(toDelivery))
    },
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
    log: EventLog.make(database),
    purge: (endedBefore, limit) =>
      Effect.zipRight(
        isDivided ? query(lead, []) : Effect.void,
        Effect.map(query(purge, [millisOf(endedBefore), limit]), (removed) => removed.length)
      )
  }
}
