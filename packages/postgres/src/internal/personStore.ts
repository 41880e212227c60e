/**
 * Erases people, and has the locks between erasures and what adds records about a person. Every user with a grant, a
 * registration or an application has a row in `people`: a first grant, a new registration, a save of an application and an
 * erasure lock it, so that they wait for each other.
 */
import type { Grant, GrantStore } from "@startlist/core/Grant"
import type { PersonStore } from "@startlist/core/PersonalData"
import { emptyUpdates } from "@startlist/core/Registration"
import { Conflict } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import type { Database, Statement } from "../Database.ts"
import { orderingColumns, promoteStatement } from "./queue.ts"
import { type Int8, millisOf } from "./rows.ts"

/** Locks the rows of these users, if they are not erased. `users` is a query of `user_id`. Returns their identifiers. */
export const holdPeople = (p: string, users: string): string => `
  INSERT INTO ${p}people AS p (user_id) ${users}
  ON CONFLICT (user_id) DO UPDATE SET erased_at = NULL WHERE p.erased_at IS NULL RETURNING user_id`

/** Shared by statements that copy an event from one delivery to another one. An erasure has it alone. */
const copies = (p: string): string => `hashtextextended('${p}copies', 0)`

/** Waits for erasures in progress. Later ones wait for the transaction. */
export const holdCopies = (p: string): Statement => ({
  name: `${p}copies_hold`,
  text: `SELECT pg_advisory_xact_lock_shared(${copies(p)})::text`
})

/** Waits for copies in progress. Later ones wait for the transaction. */
const excludeCopies = (p: string): Statement => ({
  name: `${p}copies_exclude`,
  text: `SELECT pg_advisory_xact_lock(${copies(p)})::text`
})

export const make = (
  { dialect, prefix: p, query, transaction }: Database.Service,
  grants: GrantStore.Service,
  registrations: PersonStore.Service["registrations"]
): PersonStore.Service => {
  const statement = (name: string, text: string): Statement => ({ name: `${p}person_${name}`, text })
  const isErased = statement(
    "erased",
    `SELECT FROM ${p}people WHERE user_id = $1::bigint AND erased_at IS NOT NULL`
  )
  const erase = statement(
    "erase",
    `INSERT INTO ${p}people AS p (user_id, erased_at) VALUES ($1::bigint, $2::bigint)
      ON CONFLICT (user_id) DO UPDATE SET erased_at = coalesce(p.erased_at, excluded.erased_at)`
  )
  const owned = statement(
    "owned",
    `SELECT id FROM ${p}applications WHERE owner_id = $1::bigint AND state <> 'e' LIMIT 1`
  )
  // By the primary key: the index of users has active grants only.
  const isOfUser = `user_id = $1::bigint AND application_id = ANY (ARRAY(SELECT id FROM ${p}applications))`
  // In the order in which other saves lock grants.
  const holdGrants = statement(
    "hold_grants",
    `SELECT application_id FROM ${p}grants WHERE ${isOfUser} ORDER BY application_id FOR UPDATE`
  )
  const removeGrants = statement("remove_grants", `DELETE FROM ${p}grants WHERE ${isOfUser}`)
  const removeTokens = statement("remove_tokens", `DELETE FROM ${p}imported_tokens WHERE user_id = $1::bigint`)
  const clearRegistrations = statement(
    "clear_registrations",
    `UPDATE ${p}registrations SET updates = $2::json, version = version + 1 WHERE athlete_id = $1::bigint RETURNING id`
  )
  // Clears attempts, too: responses may repeat the event.
  const clearDeliveries = statement(
    "clear_deliveries",
    `UPDATE ${p}deliveries SET updates = NULL, attempts = NULL, claim_token = NULL, lease_ends = NULL,
        state = CASE state WHEN 'p' THEN 'c' ELSE state END, ended_at = coalesce(ended_at, $2::bigint)
      WHERE ${dialect.aboutRegistrations("$1")} RETURNING ${orderingColumns.join(", ")}`
  )
  const promote = promoteStatement(dialect)
  const isOf = ({ applicationId, version }: Grant) => ({ grant }: { readonly grant: Grant }): boolean =>
    grant.applicationId === applicationId && grant.version === version + 1

  return {
    isErased: (id) => Effect.map(query(isErased, [id]), (rows) => rows.length > 0),
    registrations,
    erase: ({ at, registrationIds, revocations, userId }) =>
      transaction(Effect.gen(function*() {
        // Waits for first grants, consents, and new registrations and applications: the next statements see them.
        yield* query(erase, [userId, millisOf(at)])
        yield* query(holdGrants, [userId])
        if ((yield* query(owned, [userId])).length > 0) return yield* new Conflict()
        const active = yield* grants.listByUser(userId)
        if (active.length !== revocations.length || !active.every((one) => revocations.some(isOf(one)))) {
          return yield* new Conflict()
        }
        yield* Effect.forEach(revocations, (one) => grants.save(one), { discard: true })
        yield* query(removeGrants, [userId])
        yield* query(removeTokens, [userId])
        // Waits for changes and redeliveries in progress. The next statement sees their deliveries.
        const rows = yield* query<{ readonly id: Int8 }>(clearRegistrations, [userId, JSON.stringify(emptyUpdates)])
        const ids = [...registrationIds, ...rows.map(({ id }) => Number(id))]
        if (ids.length === 0) return
        yield* query(excludeCopies(p), [])
        const cleared = yield* query(clearDeliveries, [JSON.stringify(ids), millisOf(at)])
        // A server may report one of its own registrations at this moment, behind a delivery that is cancelled here.
        if (cleared.length > 0) yield* query(promote, [JSON.stringify(cleared)])
      }))
  }
}
