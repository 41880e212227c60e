/** Users in a table, for servers without their own. Other servers provide `UserStore` with their own table. */
import { address, Role, User, type UserId, UserStore } from "@startlist/core/User"
import { SingleLine, type StoreError } from "@startlist/core/Store"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Database } from "./Database.ts"
import * as Batch from "./internal/batch.ts"
import { pass } from "./internal/importStore.ts"
import { holdPeople } from "./internal/personStore.ts"
import { type Int8, toUserId } from "./internal/rows.ts"

/** A user without an identifier yet. Texts have no control or format characters. */
export const NewUser = Schema.Struct({
  role: Role,
  email: SingleLine.pipe(Schema.pattern(address), Schema.maxLength(254)),
  firstName: SingleLine.pipe(Schema.maxLength(200)),
  lastName: SingleLine.pipe(Schema.maxLength(200))
})
export type NewUser = typeof NewUser.Type

/** Two users cannot have the same e-mail address, without regard to case. */
export class EmailTaken extends Schema.TaggedError<EmailTaken>()("@startlist/postgres/EmailTaken", {
  email: Schema.String
}) {}

/**
 * The users of a service that keeps them in this database.
 *
 * @example
 * ```ts
 * import { Users } from "@startlist/postgres"
 * import { Effect } from "effect"
 *
 * export const invite = Effect.flatMap(Users.Users, ({ insert }) =>
 *   insert({ role: "athlete", email: "ada@example.org", firstName: "Ada", lastName: "Lovelace" }))
 * ```
 */
export class Users extends Context.Tag("@startlist/postgres/Users")<Users, Users.Service>() {}

export declare namespace Users {
  export interface Service extends UserStore.Service {
    /** The user with this e-mail address, without regard to case. */
    readonly findByEmail: (email: string) => Effect.Effect<Option.Option<User>, StoreError>
    /** Users, newest first. `after`: only those older than this identifier. */
    readonly list: (page: {
      readonly after: Option.Option<UserId>
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<User>, StoreError>
    /** Removes a user. Returns whether the user existed. The identifier is not used again. */
    readonly remove: (id: UserId) => Effect.Effect<boolean, StoreError>
    /** Stores a new user and gives it an identifier. */
    readonly insert: (user: NewUser) => Effect.Effect<User, EmailTaken | StoreError>
    /**
     * Stores a user of a former server with its identifier. New ones continue after it. Returns whether it was stored: not
     * if the identifier is in use, or its user was erased.
     */
    readonly add: (user: User) => Effect.Effect<boolean, EmailTaken | StoreError>
  }
}

interface UserRow {
  readonly id: Int8
  readonly role: Role
  readonly email: string
  readonly first_name: string
  readonly last_name: string
}

const toUser = ({ email, first_name, id, last_name, role }: UserRow): User => ({
  id: toUserId(id),
  role,
  email,
  firstName: first_name,
  lastName: last_name
})

const make = (database: Database.Service): Effect.Effect<Users.Service> =>
  Effect.gen(function*() {
    const { isInProcess, prefix: p, query, transaction } = database
    const columns = "id, role, email, first_name, last_name"
    const find = Batch.statement(
      `${p}user_find`,
      (isAlone) => `SELECT ${columns} FROM ${p}users WHERE ${Batch.isAmong("id", "bigint", isAlone)}`
    )
    const findByEmail = { name: `${p}user_email`, text: `SELECT ${columns} FROM ${p}users WHERE email_key = $1::text` }
    const list = {
      name: `${p}user_list`,
      text: `SELECT ${columns} FROM ${p}users WHERE id < $1::bigint ORDER BY id DESC LIMIT $2::integer`
    }
    const remove = { name: `${p}user_remove`, text: `DELETE FROM ${p}users WHERE id = $1::bigint RETURNING id` }
    const insert = {
      name: `${p}user_insert`,
      text: `INSERT INTO ${p}users (role, email, email_key, first_name, last_name)
        VALUES ($1::text, $2::text, $3::text, $4::text, $5::text) ON CONFLICT (email_key) DO NOTHING RETURNING ${columns}`
    }
    const hold = { name: `${p}user_hold`, text: holdPeople(p, "VALUES ($1::bigint)") }
    const add = {
      name: `${p}user_add`,
      text: `INSERT INTO ${p}users (role, email, email_key, first_name, last_name, id) OVERRIDING SYSTEM VALUE
        VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint) ON CONFLICT DO NOTHING RETURNING ${columns}`
    }
    const first = (rows: ReadonlyArray<UserRow>) => Option.map(Option.fromNullable(rows[0]), toUser)
    const findAll = (ids: ReadonlyArray<UserId>) =>
      Effect.map(query<UserRow>(find(ids), Batch.keysParameters(ids)), (rows) => {
        const found = new Map(rows.map((row) => [Number(row.id), toUser(row)]))
        return ids.map((id) => Option.fromNullable(found.get(id)))
      })
    return {
      // Concurrent finds are batched, because many resources show their user.
      find: yield* Batch.coalesce({ isInProcess, run: findAll }),
      findByEmail: (email) => Effect.map(query<UserRow>(findByEmail, [email.toLowerCase()]), first),
      list: ({ after, limit }) =>
        Effect.map(
          query<UserRow>(list, [Option.getOrElse(after, () => Number.MAX_SAFE_INTEGER), limit]),
          (rows) => rows.map(toUser)
        ),
      remove: (id) => Effect.map(query(remove, [id]), (rows) => rows.length === 1),
      add: ({ email, firstName, id, lastName, role }) =>
        transaction(Effect.gen(function*() {
          if ((yield* query(hold, [id])).length === 0) return false
          yield* pass(database, "users", id)
          const added = yield* query(add, [role, email, email.toLowerCase(), firstName, lastName, id])
          if (added.length > 0) return true
          const taken = yield* query(find([id]), [id])
          return taken.length > 0 ? false : yield* new EmailTaken({ email })
        })),
      insert: ({ email, firstName, lastName, role }) =>
        Effect.flatMap(
          query<UserRow>(insert, [role, email, email.toLowerCase(), firstName, lastName]),
          (rows) => Option.match(first(rows), { onNone: () => new EmailTaken({ email }), onSome: Effect.succeed })
        )
    }
  })

/** The users of the table `users`, which `Migrations.startlist` creates. */
export const layer: Layer.Layer<Users | UserStore, never, Database> = Layer.effectContext(
  Effect.map(
    Effect.flatMap(Database, make),
    (users) => Context.make(Users, users).pipe(Context.add(UserStore, users))
  )
)
