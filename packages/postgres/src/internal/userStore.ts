/**
 * Users in a table of ours; an embedder with users of its own binds `User.layerReadOnly` instead. Concurrent finds are
 * joined to one statement: many resources show their user.
 */
import { EmailTaken, type Role, User, type UserId, type UserStore } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "../Database.ts"
import * as Coalesce from "./coalesce.ts"
import * as Input from "./input.ts"
import { type Int8, toUserId } from "./rows.ts"

interface UserRow {
  readonly id: Int8
  readonly role: Role
  readonly email: string
  readonly first_name: string
  readonly last_name: string
}

const toUser = ({ email, first_name, id, last_name, role }: UserRow): User =>
  new User({ id: toUserId(id), role, email, firstName: first_name, lastName: last_name }, true)

export const make = ({ isInProcess, prefix: p, query }: Database.Service): Effect.Effect<UserStore.Service> =>
  Effect.gen(function*() {
    const columns = "id, role, email, first_name, last_name"
    const find = Input.statement(
      `${p}user_find`,
      (isAlone) => `SELECT ${columns} FROM ${p}users WHERE ${Input.isAmong("id", "bigint", isAlone)}`
    )
    const findByEmail = { name: `${p}user_email`, text: `SELECT ${columns} FROM ${p}users WHERE email_key = $1::text` }
    const insert = {
      name: `${p}user_insert`,
      text: `INSERT INTO ${p}users (role, email, email_key, first_name, last_name)
        VALUES ($1::text, $2::text, $3::text, $4::text, $5::text) ON CONFLICT (email_key) DO NOTHING RETURNING ${columns}`
    }
    const first = (rows: ReadonlyArray<UserRow>) => Option.map(Option.fromNullable(rows[0]), toUser)
    const findAll = (ids: ReadonlyArray<UserId>) =>
      Effect.map(query<UserRow>(find(ids), Input.keysParameters(ids)), (rows) => {
        const found = new Map(rows.map((row) => [Number(row.id), toUser(row)]))
        return ids.map((id) => Option.fromNullable(found.get(id)))
      })
    return {
      find: yield* Coalesce.make({ isInProcess, run: findAll }),
      findByEmail: (email) => Effect.map(query<UserRow>(findByEmail, [email.toLowerCase()]), first),
      insert: ({ email, firstName, lastName, role }) =>
        Effect.flatMap(
          query<UserRow>(insert, [role, email, email.toLowerCase(), firstName, lastName]),
          (rows) => Option.match(first(rows), { onNone: () => new EmailTaken({ email }), onSome: Effect.succeed })
        )
    }
  })
