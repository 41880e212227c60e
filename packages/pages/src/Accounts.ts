/** The service's own sign-in: e-mail address, password, and a session that a cookie names. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as DateTime from "effect/DateTime"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type { StoreError } from "@startlist/core/Store"
import type { User, UserId } from "@startlist/core/User"
import type { Busy } from "@startlist/http/Refusal"

/**
 * Outcome of a password check: the user who signs in, the account whose password was wrong, or no such account. `proof`
 * stands for the right password. It is valid until the account gets another one.
 */
export type PasswordCheck = Data.TaggedEnum<{
  Correct: { readonly user: User; readonly proof: Redacted.Redacted<string> }
  Wrong: { readonly user: User }
  Unknown: {}
}>
/** Makes outcomes of a password check, and tells them apart with `$match`. */
export const PasswordCheck = Data.taggedEnum<PasswordCheck>()

/**
 * Outcome of a new password. `Refused`: the present password or the link is invalid. `Unacceptable`: the new password
 * is.
 */
export type PasswordChange = Data.TaggedEnum<{
  Changed: { readonly user: User }
  Refused: {}
  Unacceptable: {}
}>
/** Makes outcomes of a new password, and tells them apart with `$match`. */
export const PasswordChange = Data.taggedEnum<PasswordChange>()

/** Maximum number of sessions of a user. */
export const maxSessions = 50

/** A browser that is signed in. The identifier cannot be used to sign in. */
export interface Session {
  /** What `endById` takes. */
  readonly id: string
  readonly startedAt: DateTime.Utc
  /** Accurate to some minutes. */
  readonly seenAt: DateTime.Utc
  readonly origin: Origin
}

/** From where a user has signed in, for the user to recognize the session. */
export interface Origin {
  /** Browser and system: `Firefox, Windows`. Empty if they are not known. */
  readonly device: string
  /** An IPv4 address, or the /64 network of an IPv6 address. */
  readonly network: string
}

/**
 * Checks passwords and stores sessions. Stores no password and no session value in clear.
 *
 * @example
 * ```ts
 * import type { User } from "@startlist/core"
 * import { Accounts } from "@startlist/pages"
 * import { Effect } from "effect"
 *
 * // The number of browsers in which a user is signed in.
 * export const browsers = (userId: User.UserId) =>
 *   Effect.flatMap(Accounts.Accounts, ({ listSessions }) =>
 *     Effect.map(listSessions(userId), (sessions) => sessions.length))
 * ```
 */
export class Accounts extends Context.Tag("@startlist/pages/Accounts")<Accounts, Accounts.Service>() {}

export declare namespace Accounts {
  export interface Service {
    /**
     * Checks the password of the account with this e-mail address (case-insensitive). Takes as long for an unknown
     * address as for a wrong password. Input may have any length up to that of a request body. Fails with `Busy` if too
     * many passwords are waiting to be checked.
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
     * Starts a session, unless the account was disabled or got another password since the check. Returns its value: at
     * least 256 unguessable bits of base64url, with or without a prefix. Only the cookie has the value, the store its
     * hash. If the user already has `maxSessions`, the oldest one ends.
     */
    readonly startSession: (
      checked: Data.TaggedEnum.Value<PasswordCheck, "Correct">,
      origin: Origin
    ) => Effect.Effect<Option.Option<Redacted.Redacted<string>>, StoreError>
    /** The user of a session that has neither ended nor expired. */
    readonly findSession: (session: Redacted.Redacted<string>) => Effect.Effect<Option.Option<User>, StoreError>
    /** Ends a session immediately. An unknown session is no error. */
    readonly endSession: (session: Redacted.Redacted<string>) => Effect.Effect<void, StoreError>
    /** The sessions of this user that neither ended nor expired, newest first. */
    readonly listSessions: (userId: UserId) => Effect.Effect<ReadonlyArray<Session>, StoreError>
    /** The identifier that `listSessions` gives this session. */
    readonly idOf: (session: Redacted.Redacted<string>) => string
    /** Ends the session of this user with this identifier. An unknown session is no error. */
    readonly endById: (userId: UserId, id: string) => Effect.Effect<void, StoreError>
    /** Ends all other sessions of the user of this session. */
    readonly endOthers: (userId: UserId, session: Redacted.Redacted<string>) => Effect.Effect<void, StoreError>
    /** Gives the user of this session another password, and ends the user's other sessions. */
    readonly changePassword: (
      session: Redacted.Redacted<string>,
      change: { readonly present: Redacted.Redacted<string>; readonly next: Redacted.Redacted<string> }
    ) => Effect.Effect<PasswordChange, Busy | StoreError>
    /** The user for whom an operator made this link to a new password, if it has neither expired nor been used. */
    readonly findReset: (token: Redacted.Redacted<string>) => Effect.Effect<Option.Option<User>, StoreError>
    /** Gives the user of the link another password, and ends all of the user's sessions. The link works once. */
    readonly resetPassword: (
      token: Redacted.Redacted<string>,
      next: Redacted.Redacted<string>
    ) => Effect.Effect<PasswordChange, Busy | StoreError>
  }
}
