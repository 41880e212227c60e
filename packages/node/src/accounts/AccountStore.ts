/** Store of users, password hashes and sessions, and the erasure of people from the tables of the service. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type OwnsApplications, PersonalData } from "@startlist/core/PersonalData"
import { Fingerprint } from "@startlist/core/Secrets"
import { type StoreError, unsafeBrand } from "@startlist/core/Store"
import { type User, UserId } from "@startlist/core/User"
import { type EmailTaken, type NewUser, Users } from "@startlist/postgres/Users"
import { Database } from "@startlist/postgres/Database"
import { maxSessions, type Origin } from "@startlist/pages/Accounts"
import { partyOf } from "../data/AuditLog.ts"
import { auditLock } from "../data/ServiceTables.ts"

/** A signed-in browser. Only the cookie has the session's value; the store has its hash. */
export interface Session {
  readonly hash: Fingerprint
  readonly userId: UserId
  readonly startedAt: DateTime.Utc
  /** Time of the last use, to within `resolution`. */
  readonly seenAt: DateTime.Utc
  readonly origin: Origin
}

/** A user who signs in with a password. A disabled user cannot. */
export interface Account {
  readonly user: User
  readonly passwordHash: string
  readonly disabled: boolean
}

/** Stands for the hash of an account without a password, until its user has chosen one. */
export const noPassword = "!"

/** A session ends after this time without use. */
const idle = Duration.hours(24)

/** A session ends after this time, even if it is in use. */
const longest = Duration.days(14)

/** The last use is stored at most this often, so that most requests write nothing. */
const resolution = Duration.minutes(5)

const isBefore = (instant: DateTime.Utc, duration: Duration.Duration, now: DateTime.Utc): boolean =>
  instant.epochMillis + Duration.toMillis(duration) <= now.epochMillis

/** Whether a session has not ended. */
export const isLive = (session: Session, now: DateTime.Utc): boolean =>
  !isBefore(session.seenAt, idle, now) && !isBefore(session.startedAt, longest, now)

/** Whether the time of the last use must be stored again. */
export const isStale = (session: Session, now: DateTime.Utc): boolean => isBefore(session.seenAt, resolution, now)

/** Sessions that were last used, or started, before these instants have ended. */
const cutoff = (now: DateTime.Utc): { readonly seenAt: DateTime.Utc; readonly startedAt: DateTime.Utc } => ({
  seenAt: DateTime.subtractDuration(now, idle),
  startedAt: DateTime.subtractDuration(now, longest)
})

/** Accounts and sessions. Every method is atomic. */
export class AccountStore extends Context.Tag("@startlist/node/AccountStore")<AccountStore, AccountStore.Service>() {}

export declare namespace AccountStore {
  export interface Service {
    /** Stores a new user and the password's hash (PHC string), both or neither. */
    readonly insert: (user: NewUser, passwordHash: string) => Effect.Effect<User, EmailTaken | StoreError>
    /** Stores an account of a former server with the user's identifier, both or neither (`Users.add`). */
    readonly add: (account: Account) => Effect.Effect<boolean, EmailTaken | StoreError>
    /** The account with this e-mail address, without regard to case. */
    readonly findByEmail: (email: string) => Effect.Effect<Option.Option<Account>, StoreError>
    /** The account with this identifier. None for a user who was stored without a password. */
    readonly find: (id: UserId) => Effect.Effect<Option.Option<Account>, StoreError>
    /** Accounts, newest first. `after`: only those older than this identifier. */
    readonly list: (page: {
      readonly after: Option.Option<UserId>
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Account>, StoreError>
    /** Disabling a user also ends the user's sessions. Returns whether the account exists. */
    readonly setDisabled: (id: UserId, disabled: boolean) => Effect.Effect<boolean, StoreError>
    /**
     * Starts a session if the user is not disabled and still has this password hash: a sign-in with the previous
     * password must not outlive a password change. Ends the oldest session of a user who already has `maxSessions`.
     * Returns whether it started.
     */
    readonly insertSession: (session: Session, passwordHash: string) => Effect.Effect<boolean, StoreError>
    /** All sessions of a user, newest first. */
    readonly listSessions: (id: UserId) => Effect.Effect<ReadonlyArray<Session>, StoreError>
    /** Ends all sessions of a user, or all but one. Returns the number of ended sessions. */
    readonly endSessions: (id: UserId, except?: Fingerprint) => Effect.Effect<number, StoreError>
    /**
     * Replaces the password hash if it is still `from`, and ends all sessions of the user, or all but one. Atomic.
     * Returns whether it was replaced.
     */
    readonly replacePassword: (change: {
      readonly id: UserId
      readonly from: string
      readonly to: string
      readonly except?: Fingerprint
    }) => Effect.Effect<boolean, StoreError>
    /** The session and its user. None if the user is disabled. */
    readonly findSession: (
      hash: Fingerprint
    ) => Effect.Effect<Option.Option<{ readonly user: User; readonly session: Session }>, StoreError>
    /** Stores the time of the last use. */
    readonly touchSession: (hash: Fingerprint, seenAt: DateTime.Utc) => Effect.Effect<void, StoreError>
    /** Ends a session. Succeeds if there is none. */
    readonly removeSession: (hash: Fingerprint) => Effect.Effect<void, StoreError>
    /** Removes at most `limit` sessions that have ended (see `cutoff`). Returns the number of removed sessions. */
    readonly purgeSessions: (now: DateTime.Utc, limit: number) => Effect.Effect<number, StoreError>
  }
}

interface PasswordRow {
  readonly user_id: string
  readonly hash: string
  readonly disabled: boolean
}

/** The driver gives `bigint` as text. */
interface SessionRow {
  readonly user_id: string
  readonly started_at: string
  readonly seen_at: string
  readonly device: string
  readonly network: string
}

const toSession = (hash: Fingerprint, row: SessionRow): Session => ({
  hash,
  userId: UserId.make(Number(row.user_id)),
  startedAt: DateTime.unsafeMake(Number(row.started_at)),
  seenAt: DateTime.unsafeMake(Number(row.seen_at)),
  origin: { device: row.device, network: row.network }
})

const make = Effect.gen(function*() {
  const { prefix: p, query, transaction } = yield* Database
  const users = yield* Users
  const statement = (name: string, text: string) => ({ name: `${p}${name}`, text })

  const insertPassword = statement(
    "password_insert",
    `INSERT INTO ${p}passwords (user_id, hash, disabled) VALUES ($1::bigint, $2::text, $3::boolean)`
  )
  const findPasswords = statement(
    "password_find",
    `SELECT user_id, hash, disabled FROM ${p}passwords
      WHERE user_id = ANY (ARRAY(SELECT json_array_elements_text($1::json)::bigint))`
  )
  const disable = statement(
    "password_disable",
    `UPDATE ${p}passwords SET disabled = $2::boolean WHERE user_id = $1::bigint RETURNING user_id`
  )
  const listSessions = statement(
    "session_list",
    `SELECT hash, user_id, started_at, seen_at, device, network FROM ${p}sessions WHERE user_id = $1::bigint
      ORDER BY started_at DESC, hash`
  )
  const replacePassword = statement(
    "password_replace",
    `UPDATE ${p}passwords SET hash = $3::text WHERE user_id = $1::bigint AND hash = $2::text RETURNING user_id`
  )
  const endSessions = statement(
    "session_end",
    `DELETE FROM ${p}sessions WHERE user_id = $1::bigint AND hash IS DISTINCT FROM $2::text RETURNING hash`
  )
  // The lock serializes it with password changes.
  const insertSession = statement(
    "session_insert",
    `WITH account AS MATERIALIZED (
        SELECT user_id FROM ${p}passwords WHERE user_id = $2::bigint AND hash = $5::text AND NOT disabled FOR SHARE
      ),
      ended AS (
        DELETE FROM ${p}sessions WHERE hash IN (
          SELECT s.hash FROM ${p}sessions s JOIN account a ON a.user_id = s.user_id
            ORDER BY s.started_at DESC, s.hash OFFSET ${maxSessions - 1}
        )
      )
      INSERT INTO ${p}sessions (hash, user_id, started_at, seen_at, device, network)
      SELECT $1::text, user_id, $3::bigint, $4::bigint, $6::text, $7::text FROM account RETURNING hash`
  )
  const findSession = statement(
    "session_find",
    `SELECT s.user_id, s.started_at, s.seen_at, s.device, s.network
      FROM ${p}sessions s JOIN ${p}passwords a ON a.user_id = s.user_id AND NOT a.disabled WHERE s.hash = $1::text`
  )
  const touchSession = statement("session_touch", `UPDATE ${p}sessions SET seen_at = $2::bigint WHERE hash = $1::text`)
  const removeSession = statement("session_remove", `DELETE FROM ${p}sessions WHERE hash = $1::text`)
  const purgeSessions = statement(
    "session_purge",
    `DELETE FROM ${p}sessions WHERE hash IN (
      SELECT hash FROM ${p}sessions WHERE seen_at <= $1::bigint OR started_at <= $2::bigint LIMIT $3::integer
    ) RETURNING hash`
  )

  /** The accounts of these users. Users without a password have none. */
  const accountsOf = (found: ReadonlyArray<User>) =>
    Effect.map(query<PasswordRow>(findPasswords, [JSON.stringify(found.map(({ id }) => id))]), (rows) => {
      const byUser = new Map(rows.map((row) => [Number(row.user_id), row]))
      return found.flatMap((user): ReadonlyArray<Account> => {
        const row = byUser.get(user.id)
        return row === undefined ? [] : [{ user, passwordHash: row.hash, disabled: row.disabled }]
      })
    })
  const accountOf = (found: Option.Option<User>) =>
    Effect.map(accountsOf(Option.toArray(found)), ([account]) => Option.fromNullable(account))

  return AccountStore.of({
    insert: (user, passwordHash) =>
      transaction(
        Effect.tap(users.insert(user), ({ id }) => query(insertPassword, [id, passwordHash, false]))
      ),
    add: ({ disabled, passwordHash, user }) =>
      transaction(
        Effect.tap(
          users.add(user),
          (isAdded) => isAdded ? query(insertPassword, [user.id, passwordHash, disabled]) : Effect.void
        )
      ),
    findByEmail: (email) => Effect.flatMap(users.findByEmail(email), accountOf),
    find: (id) => Effect.flatMap(users.find(id), accountOf),
    list: (page) => Effect.flatMap(users.list(page), accountsOf),
    setDisabled: (id, disabled) =>
      transaction(
        Effect.tap(
          Effect.map(query(disable, [id, disabled]), (rows) => rows.length === 1),
          () => disabled ? query(endSessions, [id, null]) : Effect.void
        )
      ),
    listSessions: (id) =>
      Effect.map(
        query<SessionRow & { readonly hash: string }>(listSessions, [id]),
        (rows) => rows.map((row) => toSession(unsafeBrand(Fingerprint, row.hash), row))
      ),
    endSessions: (id, except) => Effect.map(query(endSessions, [id, except ?? null]), (rows) => rows.length),
    replacePassword: ({ except, from, id, to }) =>
      transaction(
        Effect.tap(
          Effect.map(query(replacePassword, [id, from, to]), (rows) => rows.length === 1),
          (isReplaced) => isReplaced ? query(endSessions, [id, except ?? null]) : Effect.void
        )
      ),
    insertSession: ({ hash, origin, seenAt, startedAt, userId }, passwordHash) =>
      Effect.map(
        query(insertSession, [
          hash,
          userId,
          startedAt.epochMillis,
          seenAt.epochMillis,
          passwordHash,
          origin.device,
          origin.network
        ]),
        (rows) => rows.length === 1
      ),
    findSession: Effect.fnUntraced(function*(hash) {
      const [row] = yield* query<SessionRow>(findSession, [hash])
      if (row === undefined) return Option.none()
      const session = toSession(hash, row)
      return Option.map(yield* users.find(session.userId), (user) => ({ user, session }))
    }),
    touchSession: (hash, seenAt) => Effect.asVoid(query(touchSession, [hash, seenAt.epochMillis])),
    removeSession: (hash) => Effect.asVoid(query(removeSession, [hash])),
    purgeSessions: (now, limit) => {
      const { seenAt, startedAt } = cutoff(now)
      return Effect.map(query(purgeSessions, [seenAt.epochMillis, startedAt.epochMillis, limit]), (rows) => rows.length)
    }
  })
})

/** Password hashes and sessions in the service's own tables. */
export const layer: Layer.Layer<AccountStore, never, Database | Users> = Layer.effect(AccountStore, make)

/** There is no such user. */
export class UserNotFound extends Data.TaggedError("@startlist/node/UserNotFound")<{ readonly userId: UserId }> {}

/**
 * Erases a person in one transaction (law 13): what `PersonalData.erase` does, the account, its sessions and password,
 * and addresses in the audit. `OwnsApplications`: end these applications, or give them another owner, first.
 */
export const erase: (
  id: UserId
) => Effect.Effect<void, OwnsApplications | UserNotFound | StoreError, Database | PersonalData | Users> = Effect.fn(
  "AccountStore.erase"
)(function*(id: UserId) {
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

  yield* transaction(Effect.gen(function*() {
    if (!(yield* users.remove(id))) return yield* new UserNotFound({ userId: id })
    yield* personalData.erase(id)
    yield* query(removePassword, [id])
    yield* query(removeSessions, [id])
    yield* query(holdAudit, [])
    yield* query(clearAudit, [String(id)])
  }))
})
