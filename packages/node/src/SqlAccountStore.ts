/** Password hashes and sessions in tables. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { TokenHash } from "@startlist/core/Secrets"
import { trusted } from "@startlist/core/Store"
import { type User, UserId } from "@startlist/core/User"
import { Database } from "@startlist/postgres/Database"
import { Users } from "@startlist/postgres/Users"
import { type Account, AccountStore, cutoff, type Session } from "./AccountStore.ts"

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
}

const toSession = (hash: TokenHash, row: SessionRow): Session => ({
  hash,
  userId: UserId.make(Number(row.user_id)),
  startedAt: DateTime.unsafeMake(Number(row.started_at)),
  seenAt: DateTime.unsafeMake(Number(row.seen_at))
})

const make = Effect.gen(function*() {
  const { prefix: p, query, transaction } = yield* Database
  const users = yield* Users
  const statement = (name: string, text: string) => ({ name: `${p}${name}`, text })

  const insertPassword = statement(
    "password_insert",
    `INSERT INTO ${p}passwords (user_id, hash) VALUES ($1::bigint, $2::text)`
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
    `SELECT hash, user_id, started_at, seen_at FROM ${p}sessions WHERE user_id = $1::bigint
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
    `INSERT INTO ${p}sessions (hash, user_id, started_at, seen_at)
      SELECT $1::text, a.user_id, $3::bigint, $4::bigint FROM (
        SELECT user_id FROM ${p}passwords WHERE user_id = $2::bigint AND hash = $5::text AND NOT disabled FOR SHARE
      ) a RETURNING hash`
  )
  const findSession = statement(
    "session_find",
    `SELECT s.user_id, s.started_at, s.seen_at
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
        Effect.tap(users.insert(user), ({ id }) => query(insertPassword, [id, passwordHash]))
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
        (rows) => rows.map((row) => toSession(trusted(TokenHash, row.hash), row))
      ),
    endSessions: (id, except) => Effect.map(query(endSessions, [id, except ?? null]), (rows) => rows.length),
    replacePassword: ({ except, from, id, to }) =>
      transaction(
        Effect.tap(
          Effect.map(query(replacePassword, [id, from, to]), (rows) => rows.length === 1),
          (isReplaced) => isReplaced ? query(endSessions, [id, except ?? null]) : Effect.void
        )
      ),
    insertSession: ({ hash, seenAt, startedAt, userId }, passwordHash) =>
      Effect.map(
        query(insertSession, [hash, userId, startedAt.epochMillis, seenAt.epochMillis, passwordHash]),
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
