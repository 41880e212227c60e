/** Users in a table of ours; an embedder with users of its own binds `User.layerReadOnly` instead. */
import { EmailTaken, type Role, User, type UserStore } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "../Database.ts"
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

export const make = ({ prefix: p, query }: Database.Service): UserStore.Service => {
  const columns = "id, role, email, first_name, last_name"
  const find = { name: `${p}user_find`, text: `SELECT ${columns} FROM ${p}users WHERE id = $1::bigint` }
  const findByEmail = { name: `${p}user_email`, text: `SELECT ${columns} FROM ${p}users WHERE email_key = $1::text` }
  const insert = {
    name: `${p}user_insert`,
    text: `INSERT INTO ${p}users (role, email, email_key, first_name, last_name)
      VALUES ($1::text, $2::text, $3::text, $4::text, $5::text) ON CONFLICT (email_key) DO NOTHING RETURNING ${columns}`
  }
  const first = (rows: ReadonlyArray<UserRow>) => Option.map(Option.fromNullable(rows[0]), toUser)
  return {
    find: (id) => Effect.map(query<UserRow>(find, [id]), first),
    findByEmail: (email) => Effect.map(query<UserRow>(findByEmail, [email.toLowerCase()]), first),
    insert: ({ email, firstName, lastName, role }) =>
      Effect.flatMap(
        query<UserRow>(insert, [role, email, email.toLowerCase(), firstName, lastName]),
        (rows) => Option.match(first(rows), { onNone: () => new EmailTaken({ email }), onSome: Effect.succeed })
      )
  }
}
