/** Store of users, password hashes and sessions. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { TokenHash } from "@startlist/core/Secrets"
import type { StoreError } from "@startlist/core/Store"
import type { User, UserId } from "@startlist/core/User"
import type { EmailTaken, NewUser } from "@startlist/postgres/Users"

/** A signed-in browser. Only the cookie has the session's value; the store has its hash. */
export interface Session {
  readonly hash: TokenHash
  readonly userId: UserId
  readonly startedAt: DateTime.Utc
  /** Time of the last use, to within `resolution`. */
  readonly seenAt: DateTime.Utc
}

/** A user who signs in with a password. A disabled user cannot. */
export interface Account {
  readonly user: User
  readonly passwordHash: string
  readonly disabled: boolean
}

/** A session ends after this time without use. */
const idle = Duration.hours(24)

/** A session ends after this time, even if it is in use. */
const longest = Duration.days(14)

/** The last use is stored at most this often, so that most requests write nothing. */
const resolution = Duration.minutes(5)

const isBefore = (instant: DateTime.Utc, duration: Duration.Duration, now: DateTime.Utc): boolean =>
  instant.epochMillis + Duration.toMillis(duration) <= now.epochMillis

/** Whether a session has not ended. */
export const isLive = (session: Session, now: DateTime.Utc): boolean =>
  !isBefore(session.seenAt, idle, now) && !isBefore(session.startedAt, longest, now)

/** Whether the time of the last use must be stored again. */
export const isStale = (session: Session, now: DateTime.Utc): boolean => isBefore(session.seenAt, resolution, now)

/** Sessions that were last used, or started, before these instants have ended. */
export const cutoff = (now: DateTime.Utc): { readonly seenAt: DateTime.Utc; readonly startedAt: DateTime.Utc } => ({
  seenAt: DateTime.subtractDuration(now, idle),
  startedAt: DateTime.subtractDuration(now, longest)
})

export class AccountStore extends Context.Tag("@startlist/node/AccountStore")<AccountStore, AccountStore.Service>() {}

export declare namespace AccountStore {
  export interface Service {
    /** Stores a new user and the password's hash (PHC string), both or neither. */
    readonly insert: (user: NewUser, passwordHash: string) => Effect.Effect<User, EmailTaken | StoreError>
    /** The account with this e-mail address, without regard to case. */
    readonly findByEmail: (email: string) => Effect.Effect<Option.Option<Account>, StoreError>
    readonly find: (id: UserId) => Effect.Effect<Option.Option<Account>, StoreError>
    /** Accounts, newest first. `after`: only those older than this identifier. */
    readonly list: (page: {
      readonly after: Option.Option<UserId>
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Account>, StoreError>
    /** Disabling a user also ends the user's sessions. Returns whether the account exists. */
    readonly setDisabled: (id: UserId, disabled: boolean) => Effect.Effect<boolean, StoreError>
    /**
     * Starts a session if the user is not disabled and still has this password hash: a sign-in with the previous
     * password must not outlive a password change. Returns whether it started.
     */
    readonly insertSession: (session: Session, passwordHash: string) => Effect.Effect<boolean, StoreError>
    /** All sessions of a user, newest first. */
    readonly listSessions: (id: UserId) => Effect.Effect<ReadonlyArray<Session>, StoreError>
    /** Ends all sessions of a user, or all but one. Returns the number of ended sessions. */
    readonly endSessions: (id: UserId, except?: TokenHash) => Effect.Effect<number, StoreError>
    /**
     * Replaces the password hash if it is still `from`, and ends all sessions of the user, or all but one. Atomic.
     * Returns whether it was replaced.
     */
    readonly replacePassword: (change: {
      readonly id: UserId
      readonly from: string
      readonly to: string
      readonly except?: TokenHash
    }) => Effect.Effect<boolean, StoreError>
    /** The session and its user. None if the user is disabled. */
    readonly findSession: (
      hash: TokenHash
    ) => Effect.Effect<Option.Option<{ readonly user: User; readonly session: Session }>, StoreError>
    /** Stores the time of the last use. */
    readonly touchSession: (hash: TokenHash, seenAt: DateTime.Utc) => Effect.Effect<void, StoreError>
    readonly removeSession: (hash: TokenHash) => Effect.Effect<void, StoreError>
    /** Removes at most `limit` sessions that have ended (see `cutoff`). Returns the number of removed sessions. */
    readonly purgeSessions: (now: DateTime.Utc, limit: number) => Effect.Effect<number, StoreError>
  }
}
