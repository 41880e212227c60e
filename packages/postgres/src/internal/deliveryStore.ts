/** The store of deliveries and their attempts. */
import type { DeliveryStore } from "@startlist/core/Delivery"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database, Statement } from "../Database.ts"
import { rowLock } from "./divided.ts"
import * as EventLog from "./eventLog.ts"
import { deliveryColumns, type DeliveryRow, stateLetters, toDelivery } from "./deliveryRows.ts"
import { millisOf } from "./rows.ts"

export const make = (database: Database.Service): DeliveryStore.Service => {
  const { isDivided, prefix: p, query } = database
  const find = {
    name: `${p}delivery_find`,
    text: `SELECT ${deliveryColumns} FROM ${p}deliveries d WHERE d.id = $1::bigint`
  }
  /** Merges the newest deliveries of each state, in the order of an index, so that few other rows are read. */
  const list = (letters: ReadonlyArray<string>, name: string, conditionOf: (letter: string) => string): Statement => {
    const newest = (letter: string) => `
        SELECT * FROM (
          SELECT * FROM ${p}deliveries x WHERE ${conditionOf(letter)} AND x.id < $1::bigint
          ORDER BY x.id DESC LIMIT $2::integer
        ) ${letter}`
    return {
      name: `${p}delivery_list${name}_${letters.join("")}`,
      text: `SELECT ${deliveryColumns}
      FROM (${letters.map(newest).join(" UNION ALL ")}) d
      ORDER BY d.id DESC LIMIT $2::integer`
    }
  }
  const listOfAll = (letters: ReadonlyArray<string>) => list(letters, "", (letter) => `x.state::text = '${letter}'`)
  const listOfApplication = (letters: ReadonlyArray<string>) =>
    list(letters, "_application", (letter) => `x.application_id = $3::bigint AND x.state = '${letter}'`)
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
    list: ({ after, applicationId, limit, state }) => {
      const letters = Option.isSome(state) ? [stateLetters[state.value]] : Object.values(stateLetters)
      const page = [Option.getOrElse(after, () => Number.MAX_SAFE_INTEGER), limit]
      return Effect.map(
        Option.isSome(applicationId)
          ? query<DeliveryRow>(listOfApplication(letters), [...page, applicationId.value])
          : query<DeliveryRow>(listOfAll(letters), page),
        (rows) => rows.map(toDelivery)
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
