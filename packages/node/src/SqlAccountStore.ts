/** Password hashes and sessions in tables. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { TokenHash } from "@startlist/core/Secrets"
import { UserId } from "@startlist/core/User"
import { Database } from "@startlist/postgres/Database"
import { Users } from "@startlist/postgres/Users"
import { AccountStore, cutoff, type Session } from "./AccountStore.ts"

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
  const findPassword = statement("password_find", `SELECT hash FROM ${p}passwords WHERE user_id = $1::bigint`)
  const insertSession = statement(
    "session_insert",
    `INSERT INTO ${p}sessions (hash, user_id, started_at, seen_at)
      VALUES ($1::text, $2::bigint, $3::bigint, $4::bigint)`
  )
  const findSession = statement(
    "session_find",
    `SELECT user_id, started_at, seen_at FROM ${p}sessions WHERE hash = $1::text`
  )
  const touchSession = statement("session_touch", `UPDATE ${p}sessions SET seen_at = $2::bigint WHERE hash = $1::text`)
  const removeSession = statement("session_remove", `DELETE FROM ${p}sessions WHERE hash = $1::text`)
  const purgeSessions = statement(
    "session_purge",
    `DELETE FROM ${p}sessions WHERE hash IN (
      SELECT hash FROM ${p}sessions WHERE seen_at <= $1::bigint OR started_at <= $2::bigint LIMIT $3::integer
    ) RETURNING hash`
  )

  return AccountStore.of({
    insert: (user, passwordHash) =>
      transaction(
        Effect.tap(users.insert(user), ({ id }) => query(insertPassword, [id, passwordHash]))
      ),
    findByEmail: Effect.fnUntraced(function*(email) {
      const user = yield* users.findByEmail(email)
      if (Option.isNone(user)) return Option.none()
      const [row] = yield* query<{ readonly hash: string }>(findPassword, [user.value.id])
      return row === undefined ? Option.none() : Option.some({ user: user.value, passwordHash: row.hash })
    }),
    insertSession: ({ hash, seenAt, startedAt, userId }) =>
      Effect.asVoid(query(insertSession, [hash, userId, startedAt.epochMillis, seenAt.epochMillis])),
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

/** Password hashes and sessions in the service's own tables; a user and the password are inserted in one transaction. */
export const layer: Layer.Layer<AccountStore, never, Database | Users> = Layer.effect(AccountStore, make)
