/** Authentication of browsers. Servers with their own users provide their own implementation. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { StoreError } from "@startlist/core/Store"
import type { User } from "@startlist/core/User"
import type { Request } from "@startlist/http/Http"

/** A signed-in user. */
export interface SignedIn {
  readonly user: User
  /**
   * Unguessable token of the session. Every form has it in its field `csrf`. A form without it changes nothing.
   */
  readonly csrf: string
}

/**
 * The user of a browser request.
 *
 * @example
 * ```ts
 * import { Authentication } from "@startlist/pages"
 * import { Effect, Layer } from "effect"
 *
 * // A server whose sign-in is at `/sign-in`. Look up the session that a cookie of the request names.
 * export const layer = Layer.succeed(Authentication.Authentication, {
 *   identify: () => Effect.succeedNone,
 *   signInUrl: (returnTo) => `/sign-in?next=${encodeURIComponent(returnTo)}`,
 *   signOutUrl: "/sign-out"
 * })
 * ```
 */
export class Authentication
  extends Context.Tag("@startlist/pages/Authentication")<Authentication, Authentication.Service>()
{}

export declare namespace Authentication {
  export interface Service {
    /** The signed-in user of this request, if there is one. */
    readonly identify: (request: Request) => Effect.Effect<Option.Option<SignedIn>, StoreError>
    /**
     * The sign-in address. `returnTo` is the path and query of this service to which the browser returns. With `login`,
     * the application wants the user to sign in again (`prompt=login`): ask for the password, also in a session.
     * `returnTo` does not ask again. Its `login_hint` is the e-mail address of the user whom the application expects.
     */
    readonly signInUrl: (returnTo: string, prompt?: "login") => string
    /** The address for the form "use another account", with its fields `csrf` and `return_to`. */
    readonly signOutUrl: string
  }
}
