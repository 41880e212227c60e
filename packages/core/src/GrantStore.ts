/** The store port of grants. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { ApplicationId } from "./Application.ts"
import type { Change, Found, Grant } from "./Grant.ts"
import type { Conflict, StoreError } from "./Store.ts"
import type { UserId } from "./User.ts"

/** Store of grants. Every method is atomic, and a find sees every save that has returned, on any node. */
export class GrantStore extends Context.Tag("@startlist/core/GrantStore")<GrantStore, GrantStore.Service>() {}

export declare namespace GrantStore {
  export interface Service {
    /** Finds the grant and its application at one moment. One lookup, because every check of a bearer makes it. */
    readonly find: (applicationId: ApplicationId, userId: UserId) => Effect.Effect<Option.Option<Found>, StoreError>
    /** The user's active grants in the present epochs of their applications, oldest first. */
    readonly listByUser: (userId: UserId) => Effect.Effect<ReadonlyArray<Grant>, StoreError>
    /** At most `limit` of the active grants of an application in its present epoch, in any order. */
    readonly listByApplication: (
      applicationId: ApplicationId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Grant>, StoreError>
    /**
     * Saves `change.grant` over its previous version, if any, with the deliveries of its events, all or nothing. A first
     * version of an erased user is a `Conflict` (`PersonStore`).
     */
    readonly save: (change: Change) => Effect.Effect<void, Conflict | StoreError>
  }
}
