/** The service's own sign-in: e-mail address, password, and a session that a cookie names. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type { StoreError } from "@startlist/core/Store"
import type { User, UserId } from "@startlist/core/User"
import type { Busy } from "./Refusal.ts"

/** Checks passwords and keeps sessions. Stores no password and no session value in clear. */
export class Accounts extends Context.Tag("@startlist/http/Accounts")<Accounts, Accounts.Service>() {}

export declare namespace Accounts {
  export interface Service {
    /**
     * The user with this e-mail address (case does not distinguish) and password. Takes as long for an unknown address
     * as for a wrong password. Input may be anything, of any length up to that of a request body. Fails with `Busy` if
     * too many passwords are waiting to be checked.
     */
    readonly verifyPassword: (
      email: string,
      password: Redacted.Redacted<string>
    ) => Effect.Effect<Option.Option<User>, Busy | StoreError>
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
