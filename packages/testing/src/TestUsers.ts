/** Users for tests. Startlist only reads users, so a test must add them. */
import { ApplicationId } from "@startlist/core/Application"
import type { AuthorizationRefused, InvalidRedirect, RoleMismatch } from "@startlist/core/Authorization"
import { OAuth } from "@startlist/core/OAuth"
import type { StoreError } from "@startlist/core/Store"
import { User, type UserErased, UserId, UserStore } from "@startlist/core/User"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

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

/** Allows the request of an authorization URL, like a person on the consent page. Returns the URL of the redirect. */
export const consent = (
  user: User,
  url: string
): Effect.Effect<string, InvalidRedirect | AuthorizationRefused | RoleMismatch | UserErased | StoreError, OAuth> =>
  Effect.gen(function*() {
    const oauth = yield* OAuth
    const { searchParams } = new URL(url)
    const get = (name: string) => Option.fromNullable(searchParams.get(name))
    const request = yield* oauth.authorize(ApplicationId.make(Number(searchParams.get("client_id"))), {
      redirectUri: get("redirect_uri"),
      responseType: get("response_type"),
      responseMode: get("response_mode"),
      scope: get("scope"),
      state: get("state"),
      role: get("role"),
      codeChallenge: get("code_challenge"),
      codeChallengeMethod: get("code_challenge_method")
    })
    const back = new URL(request.redirectUri)
    back.searchParams.set("code", Redacted.value(yield* oauth.consent(request, user)))
    if (Option.isSome(request.state)) back.searchParams.set("state", request.state.value)
    return back.href
  })
