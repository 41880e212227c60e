/** Applications, registrations and subscriptions on SQLite. */
import { Application, ApplicationSecret, Registration, Store, Subscription, User } from "@startlist/core"
import { Effect, Option, Schema } from "effect"
import { cancel, enqueue } from "./Outbox.ts"
import * as Record from "./Record.ts"
import type { Seal } from "./Seal.ts"
import { type Atomically, isErased, type Sql } from "./Sqlite.ts"

/** A row with a record. */
export const Row = Schema.Struct({ record: Schema.String })

/** Reads at most one record. */
export const findOne = <A>(
  { all }: Sql,
  { read }: Record.Record<A>,
  query: string,
  ...values: ReadonlyArray<number | string>
): Option.Option<A> => Option.fromNullable(all(Row, query, ...values).map(({ record }) => read(record))[0])

type Table = "applications" | "registrations" | "subscriptions"

/** Writes version n over version n - 1, and runs `more` if that was stored. */
const save = <A extends { readonly id: number; readonly version: number }>(
  atomically: Atomically,
  table: Table,
  { write }: Record.Record<A>,
  next: A,
  /** `mayBe`: whether the record may be saved. `also`: what is saved with it. */
  { also = () => {}, mayBe = () => true }: {
    readonly also?: (sql: Sql) => void
    readonly mayBe?: (sql: Sql) => boolean
  } = {}
): Effect.Effect<void, Store.Conflict | Store.StoreError> =>
  Effect.flatMap(
    atomically((sql) => {
      const statement = `update ${table} set version = ?1, record = ?2 where id = ?3 and version = ?1 - 1`
      const isSaved = mayBe(sql) && sql.run(statement, next.version, write(next), next.id) === 1
      if (isSaved) also(sql)
      return isSaved
    }),
    (isSaved) => isSaved ? Effect.void : new Store.Conflict()
  )

/** Writes a new row, and then its record with the identifier from SQLite. */
const inserted = <A extends { readonly id: number }>(
  { run }: Sql,
  table: Table,
  id: number,
  { write }: Record.Record<A>,
  value: A
): A => {
  run(`update ${table} set record = ? where id = ?`, write(value), id)
  return value
}

export const makeApplications = (atomically: Atomically, seal: Seal): Application.ApplicationStore.Service => {
  const signing = Record.signing(seal)
  return {
    find: (id) =>
      atomically((sql) => findOne(sql, Record.application, "select record from applications where id = ?", id)),
    list: ({ after, limit, owner }) =>
      atomically(({ all }) =>
        all(
          Row,
          `select record from applications where (?1 is null or record ->> 'ownerId' = ?1) and (?2 is null or id < ?2)
           and record ->> 'state' <> 'ended'
         order by id desc limit ?3`,
          Option.getOrNull(owner),
          Option.getOrNull(after),
          limit
        ).map(({ record }) => Record.application.read(record))
      ),
    insert: (application, value) =>
      Effect.flatten(
        atomically((sql): ReturnType<Application.ApplicationStore.Service["insert"]> => {
          if (isErased(sql, application.ownerId)) return new User.UserErased({ userId: application.ownerId })
          const [secret] = application.secrets
          const known = "select record from applications where first_secret = ?"
          if (secret !== undefined && sql.all(Row, known, secret.hash).length > 0) return new Store.Conflict()
          const statement = "insert into applications (version, record, first_secret) values (1, '', ?)"
          const id = Application.ApplicationId.make(sql.insert(statement, secret?.hash ?? null))
          const secrets = { applicationId: id, version: 1, secrets: [{ ...ApplicationSecret.first, value }] }
          sql.run("insert into signing_secrets values (?, 1, ?)", id, signing.write(secrets))
          const made: Application.Application = { ...application, id, version: 1, state: "active", epoch: 0 }
          return Effect.succeed(inserted(sql, "applications", id, Record.application, made))
        })
      ),
    save: (next) =>
      save(atomically, "applications", Record.application, next, {
        mayBe: (sql) => next.state === "ended" || !isErased(sql, next.ownerId)
      }),
    findSigningSecrets: (id) =>
      atomically((sql) => findOne(sql, signing, "select record from signing_secrets where application = ?", id)),
    saveSigningSecrets: (next) =>
      Effect.flatMap(
        atomically(({ run }) =>
          run(
            "update signing_secrets set version = ?1, record = ?2 where application = ?3 and version = ?1 - 1",
            next.version,
            signing.write(next),
            next.applicationId
          ) === 1
        ),
        (isSaved) => isSaved ? Effect.void : new Store.Conflict()
      )
  }
}

export const makeRegistrations = (
  atomically: Atomically,
  wake: Effect.Effect<unknown>
): Registration.RegistrationStore.Service => ({
  find: (id) =>
    atomically((sql) => findOne(sql, Record.registration, "select record from registrations where id = ?", id)),
  insert: (registration) =>
    Effect.flatten(atomically((sql) => {
      if (isErased(sql, registration.parties.athleteId)) return new Store.Conflict()
      const id = Registration.RegistrationId.make(
        sql.insert("insert into registrations (version, record) values (1, '')")
      )
      const made = { ...registration, id, version: 1 }
      return Effect.succeed(inserted(sql, "registrations", id, Record.registration, made))
    })),
  save: (next, outgoing) =>
    Effect.tap(
      save(atomically, "registrations", Record.registration, next, { also: (sql) => enqueue(sql, outgoing) }),
      wake
    )
})

export const makeSubscriptions = (atomically: Atomically): Subscription.SubscriptionStore.Service => {
  const codec = Record.subscription
  return {
    findByApplication: (id) =>
      atomically((sql) => findOne(sql, codec, "select record from subscriptions where application = ?", id)),
    list: ({ after, limit }) =>
      atomically(({ all }) =>
        all(
          Row,
          "select record from subscriptions where (?1 is null or id < ?1) order by id desc limit ?2",
          Option.getOrNull(after),
          limit
        ).map(({ record }) => codec.read(record))
      ),
    insert: (subscription) =>
      Effect.flatten(atomically((sql): ReturnType<Subscription.SubscriptionStore.Service["insert"]> => {
        const { applicationId } = subscription
        const byId = "select record from applications where id = ?"
        if (Option.exists(findOne(sql, Record.application, byId, applicationId), ({ state }) => state === "ended")) {
          return new Application.ApplicationNotFound({ applicationId })
        }
        const byApplication = "select record from subscriptions where application = ?"
        if (Option.isSome(findOne(sql, codec, byApplication, applicationId))) {
          return new Subscription.AlreadySubscribed()
        }
        const statement = "insert into subscriptions (application, version, record) values (?, 1, '')"
        const id = Subscription.SubscriptionId.make(sql.insert(statement, applicationId))
        const made = { ...subscription, id, version: 1, paused: false, pausedByOperator: false }
        return Effect.succeed(inserted(sql, "subscriptions", id, codec, made))
      })),
    save: (next) => save(atomically, "subscriptions", codec, next),
    remove: (id, now) =>
      atomically((sql) => {
        const { all, run } = sql
        const pending = all(Row, "select record from deliveries where subscription = ? and state = 'pending'", id)
        for (const { record } of pending) cancel(sql, record, now)
        return run("delete from subscriptions where id = ?", id) === 1
      })
  }
}
