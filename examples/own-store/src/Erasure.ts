/** Erased users on SQLite. */
import { type Grant, type PersonalData, Registration, Store } from "@startlist/core"
import { Effect } from "effect"
import { cancel, enqueue } from "./Outbox.ts"
import { Row } from "./People.ts"
import * as Record from "./Record.ts"
import { type Atomically, isErased, type Sql } from "./Sqlite.ts"

const registrationsOf = ({ all }: Sql, user: number) =>
  all(Row, "select record from registrations where record -> 'parties' ->> 'athleteId' = ? order by id", user)
    .map(({ record }) => Record.registration.read(record))

/** Whether these are the next versions of all active grants of the user. */
const areNext = ({ all }: Sql, user: number, revocations: ReadonlyArray<Grant.Change>): boolean => {
  const active = all(Row, "select record from active_grants where user = ?", user)
    .map(({ record }) => Record.grant.read(record))
  return active.length === revocations.length &&
    active.every(({ applicationId, version }) =>
      revocations.some(({ grant }) => grant.applicationId === applicationId && grant.version === version + 1)
    )
}

const ownsApplications = ({ all }: Sql, user: number): boolean => {
  const live = "select record from applications where record ->> 'ownerId' = ? and record ->> 'state' <> 'ended'"
  return all(Row, live, user).length > 0
}

/** Clears what the deliveries about a registration contain of it, and cancels pending ones. */
const clearDeliveries = (sql: Sql, registration: Registration.RegistrationId, at: PersonalData.Erasure["at"]): void => {
  for (
    const { record } of sql.all(Row, "select record from deliveries where object = ?", `registration:${registration}`)
  ) {
    const { event, ...delivery } = Record.delivery.read(record)
    const cleared = { ...delivery, event: { ...event, updates: Registration.emptyUpdates }, attempts: [] }
    const text = Record.delivery.write(cleared)
    sql.run("update deliveries set record = ? where id = ?", text, delivery.id)
    if (delivery.state === "pending") cancel(sql, text, at)
  }
}

export const makePersons = (
  atomically: Atomically,
  wake: Effect.Effect<unknown>
): PersonalData.PersonStore.Service => ({
  isErased: (id) => atomically((sql) => isErased(sql, id)),
  registrations: (id) => atomically((sql) => registrationsOf(sql, id)),
  erase: ({ at, registrationIds, revocations, userId }) =>
    atomically((sql) => {
      if (!areNext(sql, userId, revocations) || ownsApplications(sql, userId)) return false
      for (const { outgoing } of revocations) enqueue(sql, outgoing)
      sql.run("delete from grants where user = ?", userId)
      sql.run("insert or ignore into erased values (?)", userId)
      const cleared = new Set(registrationIds)
      for (const one of registrationsOf(sql, userId)) {
        const next = { ...one, version: one.version + 1, updates: Registration.emptyUpdates }
        const statement = "update registrations set version = ?, record = ? where id = ?"
        sql.run(statement, next.version, Record.registration.write(next), one.id)
        cleared.add(one.id)
      }
      for (const id of cleared) clearDeliveries(sql, id, at)
      return true
    }).pipe(
      Effect.flatMap((isSaved) => isSaved ? Effect.void : new Store.Conflict()),
      Effect.tap(wake)
    )
})
