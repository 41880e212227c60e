/** The service's own sign-in: e-mail address, password, and a session that a cookie names. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type { StoreError } from "@startlist/core/Store"
import type { User, UserId } from "@startlist/core/User"
import type { Busy } from "@startlist/http/Refusal"

/** Outcome of a password check: the user who signs in, the account whose password was wrong, or no such account. */
export type PasswordCheck = Data.TaggedEnum<{
  Correct: { readonly user: User }
  Wrong: { readonly user: User }
  Unknown: {}
}>
export const PasswordCheck = Data.taggedEnum<PasswordCheck>()

/** Checks passwords and keeps sessions. Stores no password and no session value in clear. */
export class Accounts extends Context.Tag("@startlist/pages/Accounts")<Accounts, Accounts.Service>() {}

export declare namespace Accounts {
  export interface Service {
    /**
     * Checks the password of the account with this e-mail address (case does not distinguish). Takes as long for an
     * unknown address as for a wrong password. Input may be anything, of any length up to that of a request body. Fails
     * with `Busy` if too many passwords are waiting to be checked.
     */
    readonly verifyPassword: (
      email: string,
      password: Redacted.Redacted<string>
    ) => Effect.Effect<PasswordCheck, Busy | StoreError>
    /**
     * The identifier of the browser to which `rememberBrowser` gave this value, if it has signed in to the account with
     * this e-mail address and the value has not expired.
     */
    readonly recognizeBrowser: (
      value: Redacted.Redacted<string>,
      email: string
    ) => Effect.Effect<Option.Option<string>>
    /**
     * Returns a value for the device cookie of a browser that has just signed in, of at most 1 000 characters that need
     * no encoding in a cookie. `previous` is the value that the browser had: it may name other accounts.
     */
    readonly rememberBrowser: (
      user: User,
      previous: Option.Option<Redacted.Redacted<string>>
    ) => Effect.Effect<Redacted.Redacted<string>>
    /**
     * Starts a session. Answers its value, which only the cookie holds: at least 256 unguessable bits of base64url,
     * with or without a prefix; the store keeps its hash.
     */
    readonly startSession: (userId: UserId) => Effect.Effect<Redacted.Redacted<string>, StoreError>
    /** The user of a session that has neither ended nor expired. */
    readonly findSession: (session: Redacted.Redacted<string>) => Effect.Effect<Option.Option<User>, StoreError>
    /** Ends a session at once. One that is unknown is no error. */
    readonly endSession: (session: Redacted.Redacted<string>) => Effect.Effect<void, StoreError>
  }
}
