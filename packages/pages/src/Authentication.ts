/** Who uses the browser. Servers with users of their own give their own implementation. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { StoreError } from "@startlist/core/Store"
import type { User } from "@startlist/core/User"
import type { Request } from "@startlist/http/Message"

/** A signed-in user. */
export interface SignedIn {
  readonly user: User
  /**
   * Unguessable, the same for the whole session and for no other one: every form carries it in its field `csrf`, and a
   * post without it changes nothing.
   */
  readonly csrf: string
}

/** Who the user of a browser request is. */
export class Authentication
  extends Context.Tag("@startlist/pages/Authentication")<Authentication, Authentication.Service>()
{}

export declare namespace Authentication {
  export interface Service {
    /** The signed-in user of this request, if there is one. */
    readonly identify: (request: Request) => Effect.Effect<Option.Option<SignedIn>, StoreError>
    /**
     * Where a browser is sent to sign in. `returnTo` is a path and query of this service, to which it is to come back.
     */
    readonly signInUrl: (returnTo: string) => string
    /** The address to which the form "use another account" posts its fields `csrf` and `return_to`. */
    readonly signOutUrl: string
  }
}
