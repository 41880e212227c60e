/** What is known about a person, and the end of it (law 13). */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { OAuth } from "@startlist/core/OAuth"
import { emptyUpdates, RegistrationId } from "@startlist/core/Registration"
import { type StoreError, trusted } from "@startlist/core/Store"
import { type UserId, UserNotFound } from "@startlist/core/User"
import { Database } from "@startlist/postgres/Database"
import { Users } from "@startlist/postgres/Users"
import { partyOf } from "./SqlTables.ts"

export class PersonalData extends Context.Tag("@startlist/node/PersonalData")<PersonalData, PersonalData.Service>() {}

export declare namespace PersonalData {
  export interface Service {
    /** The registrations of an athlete, oldest first. */
    readonly registrationsOf: (id: UserId) => Effect.Effect<ReadonlyArray<RegistrationId>, StoreError>
    /**
     * Erases a person, all in one transaction: name, e-mail address, password and sessions go. So do the texts of the
     * person's registrations, those in events too, and the e-mail and network addresses in the audit. The grants are
     * revoked, and the applications are notified as after a revocation by the user. What is pending with texts of the
     * person is cancelled. The identifier stays, and is not given to anybody else.
     */
    readonly erase: (id: UserId) => Effect.Effect<void, UserNotFound | StoreError>
  }
}

const make = Effect.gen(function*() {
  const { afterCommit, prefix: p, query, transaction } = yield* Database
  const users = yield* Users
  const oauth = yield* OAuth
  const statement = (name: string, text: string) => ({ name: `${p}erasure_${name}`, text })

  const registrations = `SELECT id FROM ${p}registrations WHERE athlete_id = $1::bigint`
  const events = `SELECT seq FROM ${p}events WHERE object_type = 'registration' AND object_id IN (${registrations})`
  const clearRegistrations = statement(
    "registrations",
    `UPDATE ${p}registrations SET updates = $2::json, version = version + 1 WHERE athlete_id = $1::bigint`
  )
  const cancel = statement(
    "deliveries",
    `UPDATE ${p}deliveries SET state = 'c', ended_at = $2::bigint, claim_token = NULL, lease_ends = NULL
      WHERE id = ANY (ARRAY(
        SELECT id FROM ${p}deliveries WHERE state = 'p' AND event_seq IN (${events}) ORDER BY id FOR UPDATE
      ))`
  )
  // What receivers answered may repeat what they got.
  const clearAttempts = statement(
    "attempts",
    `UPDATE ${p}deliveries SET attempts = NULL WHERE event_seq IN (${events})`
  )
  const clearEvents = statement("events", `UPDATE ${p}events SET updates = $2::json WHERE seq IN (${events})`)
  const removePassword = statement("password", `DELETE FROM ${p}passwords WHERE user_id = $1::bigint`)
  const removeSessions = statement("sessions", `DELETE FROM ${p}sessions WHERE user_id = $1::bigint`)
  const isAbout = (column: string) => `${partyOf(column)} IN ('user:' || $1::text, 'email:' || $2::text)`
  const clearAudit = statement(
    "audit",
    `UPDATE ${p}audit SET actor = (actor::jsonb - 'email')::json, subject = (subject::jsonb - 'email')::json,
        address = CASE WHEN ${isAbout("actor")} THEN '' ELSE address END
      WHERE (${isAbout("actor")} OR ${isAbout("subject")})
        AND (address <> '' AND ${isAbout("actor")} OR actor->>'email' IS NOT NULL OR subject->>'email' IS NOT NULL)`
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
    const updates = JSON.stringify(emptyUpdates)
    yield* transaction(Effect.gen(function*() {
      const user = yield* users.find(id)
      if (Option.isNone(user)) return yield* new UserNotFound({ userId: id })
      yield* users.remove(id)
      yield* query(removePassword, [id])
      yield* query(removeSessions, [id])
      yield* revoke(id)
      yield* query(clearRegistrations, [id, updates])
      yield* query(cancel, [id, yield* Effect.clockWith((clock) => clock.currentTimeMillis)])
      yield* query(clearAttempts, [id])
      yield* query(clearEvents, [id, updates])
      yield* query(clearAudit, [String(id), user.value.email.toLowerCase()])
    }))
    // A consent or a redelivery that was on its way meanwhile.
    const late = Effect.all([revoke(id), query(clearEvents, [id, updates])], { discard: true })
    yield* afterCommit(Effect.catchTag(
      late,
      "StoreError",
      (error) =>
        Effect.logWarning(`what was on its way during the erasure of user ${id} could not be looked for`, error)
    ))
  })

  return PersonalData.of({ erase, registrationsOf })
})

/** Over the service's own tables. */
export const layer: Layer.Layer<PersonalData, never, Database | OAuth | Users> = Layer.effect(PersonalData, make)
