/** The store of deliveries and their attempts. */
import type { DeliveryStore } from "@startlist/core/Delivery"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database, Statement } from "../Database.ts"
import * as EventLog from "./eventLog.ts"
import { deliveryColumns, type DeliveryRow, stateLetters, toDelivery } from "./deliveryRows.ts"
import { millisOf } from "./rows.ts"

export const make = (database: Database.Service): DeliveryStore.Service => {
  const { prefix: p, query } = database
  const find = {
    name: `${p}delivery_find`,
    text: `SELECT ${deliveryColumns} FROM ${p}deliveries d JOIN ${p}events e ON e.seq = d.event_seq
      WHERE d.id = $1::bigint`
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
      FROM (${letters.map(newest).join(" UNION ALL ")}
        ORDER BY id DESC LIMIT $2::integer
      ) d CROSS JOIN LATERAL (SELECT * FROM ${p}events x WHERE x.seq = d.event_seq OFFSET 0) e
      ORDER BY d.id DESC`
    }
  }
  const listOfAll = (letters: ReadonlyArray<string>) => list(letters, "", (letter) => `x.state::text = '${letter}'`)
  const listOfApplication = (letters: ReadonlyArray<string>) =>
    list(letters, "_application", (letter) => `x.application_id = $3::bigint AND x.state = '${letter}'`)
  const purge = {
    name: `${p}delivery_purge`,
    text: `WITH old AS MATERIALIZED (
        SELECT id FROM ${p}deliveries WHERE ended_at <= $1::bigint
        ORDER BY ended_at LIMIT $2::integer FOR UPDATE SKIP LOCKED
      ),
      gone AS (DELETE FROM ${p}deliveries WHERE id = ANY (ARRAY(SELECT id FROM old)) RETURNING event_seq),
      counts AS MATERIALIZED (SELECT event_seq, count(*) AS count FROM gone GROUP BY event_seq),
      held AS MATERIALIZED (
        SELECT seq FROM ${p}events WHERE seq = ANY (ARRAY(SELECT event_seq FROM counts)) ORDER BY seq FOR UPDATE
      ),
      untold AS (
        UPDATE ${p}events e SET remaining = e.remaining - c.count
        FROM counts c WHERE e.seq = c.event_seq AND e.seq IN (SELECT seq FROM held)
      )
      SELECT count(*)::integer AS count FROM gone`
  }
  const purgeEvents = {
    name: `${p}event_purge`,
    text: `DELETE FROM ${p}events WHERE seq = ANY (ARRAY(
        SELECT seq FROM ${p}events WHERE remaining <= 0 ORDER BY seq LIMIT $1::integer FOR UPDATE SKIP LOCKED
      ))`
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
      Effect.flatMap(
        query<{ readonly count: number }>(purge, [millisOf(endedBefore), limit]),
        ([row]) => Effect.as(query(purgeEvents, [limit]), row?.count ?? 0)
      )
  }
}
