/** Erases people from the tables of the service, and from those of the stores (law 13). */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type OwnsApplications, PersonalData } from "@startlist/core/PersonalData"
import type { StoreError } from "@startlist/core/Store"
import type { UserId } from "@startlist/core/User"
import { Database } from "@startlist/postgres/Database"
import { Users } from "@startlist/postgres/Users"
import { partyOf } from "../data/AuditLog.ts"
import { auditLock } from "../data/ServiceTables.ts"

/** There is no such user. */
export class UserNotFound extends Data.TaggedError("@startlist/node/UserNotFound")<{ readonly userId: UserId }> {}

export class AccountErasure
  extends Context.Tag("@startlist/node/AccountErasure")<AccountErasure, AccountErasure.Service>()
{}

export declare namespace AccountErasure {
  export interface Service {
    /**
     * Erases a person in one transaction: what `PersonalData.erase` does, the account, its sessions and password, and
     * addresses in the audit. `OwnsApplications`: end these applications, or give them another owner, first.
     */
    readonly erase: (id: UserId) => Effect.Effect<void, OwnsApplications | UserNotFound | StoreError>
  }
}

const make = Effect.gen(function*() {
  const { prefix: p, query, transaction } = yield* Database
  const users = yield* Users
  const personalData = yield* PersonalData
  const statement = (name: string, text: string) => ({ name: `${p}erasure_${name}`, text })

  const removePassword = statement("password", `DELETE FROM ${p}passwords WHERE user_id = $1::bigint`)
  const removeSessions = statement("sessions", `DELETE FROM ${p}sessions WHERE user_id = $1::bigint`)
  // Waits for entries on their way: the next statement sees them.
  const holdAudit = statement("hold_audit", `SELECT pg_advisory_xact_lock(${auditLock(p)})::text`)
  const clearAudit = statement(
    "audit",
    `UPDATE ${p}audit SET address = '' WHERE address <> '' AND actor->>'type' <> 'operator'
        AND (${partyOf("actor")} = 'user:' || $1::text OR ${partyOf("subject")} = 'user:' || $1::text)`
  )

  const erase = Effect.fn("AccountErasure.erase")((id: UserId) =>
    transaction(Effect.gen(function*() {
      if (!(yield* users.remove(id))) return yield* new UserNotFound({ userId: id })
      yield* personalData.erase(id)
      yield* query(removePassword, [id])
      yield* query(removeSessions, [id])
      yield* query(holdAudit, [])
      yield* query(clearAudit, [String(id)])
    }))
  )

  return AccountErasure.of({ erase })
})

/** Over the service's own tables. */
export const layer: Layer.Layer<AccountErasure, never, Database | PersonalData | Users> = Layer.effect(
  AccountErasure,
  make
)
