/** Export and erasure of personal data (law 13). */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { OAuth } from "@startlist/core/OAuth"
import { emptyUpdates, RegistrationId } from "@startlist/core/Registration"
import { type StoreError, trusted } from "@startlist/core/Store"
import type { UserId } from "@startlist/core/User"
import { Database } from "@startlist/postgres/Database"
import { Users } from "@startlist/postgres/Users"
import { partyOf } from "./SqlTables.ts"

/** There is no such user. */
export class UserNotFound extends Data.TaggedError("UserNotFound")<{ readonly userId: UserId }> {}

export class PersonalData extends Context.Tag("@startlist/node/PersonalData")<PersonalData, PersonalData.Service>() {}

export declare namespace PersonalData {
  export interface Service {
    /** The registrations of an athlete, oldest first. */
    readonly registrationsOf: (id: UserId) => Effect.Effect<ReadonlyArray<RegistrationId>, StoreError>
    /**
     * Erases a person in one transaction: account, sessions, texts of registrations and their events, addresses in the
     * audit. Revokes the grants with events, and cancels pending deliveries that contain texts of the person. The
     * identifier is not used again. `OwnsApplications`: end these applications, or give them another owner, first.
     */
    readonly erase: (id: UserId) => Effect.Effect<void, OwnsApplications | UserNotFound | StoreError>
    /** Prevents the erasure of this person until the caller's transaction ends. Waits for an erasure in progress. */
    readonly hold: (id: UserId) => Effect.Effect<void, StoreError>
  }
}

/** The person still owns applications. */
export class OwnsApplications extends Data.TaggedError("OwnsApplications")<{}> {}

const make = Effect.gen(function*() {
  const { afterCommit, isDivided, prefix: p, query, transaction } = yield* Database
  const users = yield* Users
  const oauth = yield* OAuth
  const statement = (name: string, text: string) => ({ name: `${p}erasure_${name}`, text })

  const owned = statement(
    "owned",
    `SELECT id FROM ${p}applications WHERE owner_id = $1::bigint AND state <> 'e' LIMIT 1`
  )
  const holdUser = statement("hold", `SELECT id FROM ${p}users WHERE id = $1::bigint FOR KEY SHARE`)
  const registrations = `SELECT id FROM ${p}registrations WHERE athlete_id = $1::bigint`
  const isAbout = `object_type = 'r' AND object_id = ANY (ARRAY(${registrations}))`
  const clearRegistrations = statement(
    "registrations",
    `UPDATE ${p}registrations SET updates = $2::json, version = version + 1 WHERE athlete_id = $1::bigint`
  )
  // In a later snapshot than `clearRegistrations`, which waits for redeliveries and changes in progress: they lock the
  // registration. Clears attempts, too: responses may repeat the event. Rows are locked in the order of settling, where
  // a statement can lock rows of all applications.
  const clearDeliveries = statement(
    "deliveries",
    `UPDATE ${p}deliveries SET updates = NULL, attempts = NULL, claim_token = NULL, lease_ends = NULL,
        state = CASE state WHEN 'p' THEN 'c' ELSE state END, ended_at = coalesce(ended_at, $2::bigint)
      WHERE ${
      isDivided ? isAbout : `id = ANY (ARRAY(SELECT id FROM ${p}deliveries WHERE ${isAbout} ORDER BY id FOR UPDATE))`
    }`
  )
  const removePassword = statement("password", `DELETE FROM ${p}passwords WHERE user_id = $1::bigint`)
  const removeSessions = statement("sessions", `DELETE FROM ${p}sessions WHERE user_id = $1::bigint`)
  const clearAudit = statement(
    "audit",
    `UPDATE ${p}audit SET address = '' WHERE address <> '' AND actor->>'type' <> 'operator'
        AND (${partyOf("actor")} = 'user:' || $1::text OR ${partyOf("subject")} = 'user:' || $1::text)`
  )

  const revoke = (id: UserId) =>
    Effect.flatMap(oauth.authorized(id), (authorized) =>
      Effect.forEach(
        authorized,
        ({ application }) =>
          Effect.catchTag(oauth.revokeByUser(application.id, id), "GrantNotFound", () => Effect.void),
        { discard: true }
      ))

  const list = statement("list", `${registrations} ORDER BY id`)
  const registrationsOf = (id: UserId) =>
    Effect.map(
      query<{ readonly id: string }>(list, [id]),
      (rows) => rows.map((row) => trusted(RegistrationId, Number(row.id)))
    )

  const erase = Effect.fn("PersonalData.erase")(function*(id: UserId) {
    yield* transaction(Effect.gen(function*() {
      const user = yield* users.find(id)
      if (Option.isNone(user)) return yield* new UserNotFound({ userId: id })
      // Waits for `hold` of others, so that the next statement sees what they have saved.
      yield* users.remove(id)
      if ((yield* query(owned, [id])).length > 0) return yield* new OwnsApplications()
      yield* query(removePassword, [id])
      yield* query(removeSessions, [id])
      yield* revoke(id)
      yield* query(clearRegistrations, [id, JSON.stringify(emptyUpdates)])
      yield* query(clearDeliveries, [id, yield* Effect.clockWith((clock) => clock.currentTimeMillis)])
      yield* query(clearAudit, [String(id)])
    }))
    // For a consent in progress during the erasure. A later consent finds no user and revokes itself.
    yield* afterCommit(Effect.catchTag(
      revoke(id),
      "StoreError",
      (error) => Effect.logWarning(`access that user ${id} granted during the erasure could not be revoked`, error)
    ))
  })

  const hold = (id: UserId) => Effect.asVoid(query(holdUser, [id]))

  return PersonalData.of({ erase, hold, registrationsOf })
})

/** Over the service's own tables. */
export const layer: Layer.Layer<PersonalData, never, Database | OAuth | Users> = Layer.effect(PersonalData, make)
