/** The users on whose behalf applications act. Another package authenticates them. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { maxId, type StoreError, Text } from "./Store.ts"

/** Identifies a user; the `object_id` of user events (requirements §6.2). A positive integer below 2^53. */
export const UserId = Schema.Int.pipe(Schema.between(1, maxId), Schema.brand("@startlist/UserId"))
export type UserId = typeof UserId.Type

/** The role of a user (requirements §1). Every user has exactly one role. */
export const Role = Schema.Literal("platform", "organizer", "club", "athlete")
export type Role = typeof Role.Type

/** The form of an e-mail address. */
export const address = /^[^\s@]+@[^\s@]+$/

/** A user of the platform. */
export const User = Schema.Struct({
  id: UserId,
  role: Role,
  email: Text.pipe(Schema.pattern(address), Schema.maxLength(254)),
  firstName: Text.pipe(Schema.maxLength(200)),
  lastName: Text.pipe(Schema.maxLength(200))
})
export type User = typeof User.Type

/** The user was erased (`PersonalData.erase`), and cannot give access any more. */
export class UserErased extends Schema.TaggedError<UserErased>()("@startlist/core/UserErased", {
  userId: UserId
}) {}

/** Store of users, which the embedding server owns. Startlist reads users by identifier and never writes them. */
export class UserStore extends Context.Tag("@startlist/core/UserStore")<UserStore, UserStore.Service>() {}

export declare namespace UserStore {
  export interface Service {
    /** The user with this identifier, none once it was removed. */
    readonly find: (id: UserId) => Effect.Effect<Option.Option<User>, StoreError>
  }
}
