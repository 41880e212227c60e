/** Users for tests. Startlist only reads users, so a test must add them. */
import { User, UserId, UserStore } from "@startlist/core/User"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

export class TestUsers extends Context.Tag("@startlist/testing/TestUsers")<TestUsers, TestUsers.Service>() {}

export declare namespace TestUsers {
  export interface Service {
    /** Adds a user and gives it the next identifier. */
    readonly add: (user: Omit<User, "id">) => Effect.Effect<User>
    /** Removes a user. The identifier is not given to anybody else. */
    readonly remove: (id: UserId) => Effect.Effect<void>
  }
}

/** Users in memory whose identifiers follow `lastId`. On a shared database, take identifiers that no other test has. */
export const layerAfter = (lastId: number): Layer.Layer<TestUsers | UserStore> =>
  Layer.syncContext(() => {
    const users = new Map<UserId, User>()
    let last = lastId
    return Context.make(TestUsers, {
      add: (fields) =>
        Effect.sync(() => {
          const user = { ...fields, id: UserId.make(++last) }
          users.set(user.id, user)
          return user
        }),
      remove: (id) => Effect.sync(() => void users.delete(id))
    }).pipe(Context.add(UserStore, { find: (id) => Effect.sync(() => Option.fromNullable(users.get(id))) }))
  })

/** Users in memory, numbered from 1. */
export const layer: Layer.Layer<TestUsers | UserStore> = layerAfter(0)
