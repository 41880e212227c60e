/** The people on whose behalf applications act. How they prove who they are is the business of the adapter that asks. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Line, maxId, StoreError, Text } from "./Store.ts"

/** Identifies a user; the `object_id` of user events (requirements §6.2). A positive integer below 2^53. */
export const UserId = Schema.Int.pipe(Schema.between(1, maxId), Schema.brand("@startlist/UserId"))
export type UserId = typeof UserId.Type

/** What a user is to the service (requirements §1). Every user has exactly one role. */
export const Role = Schema.Literal("platform", "organizer", "club", "athlete")
export type Role = typeof Role.Type

const address = /^[^\s@]+@[^\s@]+$/

export class User extends Schema.Class<User>("@startlist/core/User")({
  id: UserId,
  role: Role,
  email: Text.pipe(Schema.pattern(address), Schema.maxLength(254)),
  firstName: Text.pipe(Schema.maxLength(200)),
  lastName: Text.pipe(Schema.maxLength(200))
}) {}

/** A user before the store has given an identifier. What people type has no control or format characters. */
export const NewUser = Schema.Struct({
  role: Role,
  email: Line.pipe(Schema.pattern(address), Schema.maxLength(254)),
  firstName: Line.pipe(Schema.maxLength(200)),
  lastName: Line.pipe(Schema.maxLength(200))
})
export type NewUser = typeof NewUser.Type

/** Two users cannot share an e-mail address; case does not distinguish. */
export class EmailTaken extends Schema.TaggedError<EmailTaken>("@startlist/core/EmailTaken")("EmailTaken", {
  email: Schema.String
}) {}

export class UserNotFound extends Schema.TaggedError<UserNotFound>("@startlist/core/UserNotFound")("UserNotFound", {
  userId: UserId
}) {}

/** Where users live. A server with users of its own binds `layerReadOnly` to its own table instead. */
export class UserStore extends Context.Tag("@startlist/core/UserStore")<UserStore, UserStore.Service>() {}

export declare namespace UserStore {
  export interface Service {
    readonly find: (id: UserId) => Effect.Effect<Option.Option<User>, StoreError>
    /** The user with this address, whatever its case. */
    readonly findByEmail: (email: string) => Effect.Effect<Option.Option<User>, StoreError>
    /** Stores a new user and gives it an identifier. */
    readonly insert: (user: NewUser) => Effect.Effect<User, EmailTaken | StoreError>
  }
}

/** A user store for servers that keep their users themselves: Startlist reads them by identifier and never writes. */
export const layerReadOnly = (
  find: (id: UserId) => Effect.Effect<Option.Option<User>, StoreError>
): Layer.Layer<UserStore> => {
  const elsewhere = Effect.fail(new StoreError({ cause: "users are kept by the embedding server" }))
  return Layer.succeed(UserStore, { find, findByEmail: () => elsewhere, insert: () => elsewhere })
}
