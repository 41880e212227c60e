/** Where grants and their credentials live. */
import * as Context from "effect/Context"
import type * as DateTime from "effect/DateTime"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { ApplicationId } from "./Application.ts"
import type { Change, Found, Grant } from "./Grant.ts"
import type { TokenHash } from "./Secrets.ts"
import type { Conflict, StoreError } from "./Store.ts"
import type { AccessToken, Code, RefreshToken } from "./Token.ts"
import type { UserId } from "./User.ts"

/** Where grants live. Every method is atomic, and a find sees every save that has returned, on any node. */
export class GrantStore extends Context.Tag("@startlist/core/GrantStore")<GrantStore, GrantStore.Service>() {}

export declare namespace GrantStore {
  export interface Service {
    readonly find: (applicationId: ApplicationId, userId: UserId) => Effect.Effect<Option.Option<Grant>, StoreError>
    /** The code with this fingerprint, redeemed or not, and its grant. */
    readonly findByCode: (hash: TokenHash) => Effect.Effect<Option.Option<Found<Code>>, StoreError>
    /** The refresh token with this fingerprint, current or replaced, and its grant. */
    readonly findByRefresh: (hash: TokenHash) => Effect.Effect<Option.Option<Found<RefreshToken>>, StoreError>
    readonly findByAccess: (hash: TokenHash) => Effect.Effect<Option.Option<Found<AccessToken>>, StoreError>
    /** The user's active grants, oldest first. */
    readonly listByUser: (userId: UserId) => Effect.Effect<ReadonlyArray<Grant>, StoreError>
    /**
     * Saves `change.grant` over version `change.grant.version - 1` (version 1: where there is none), with its code,
     * its tokens and the deliveries of its events, all or nothing.
     */
    readonly save: (change: Change) => Effect.Effect<void, Conflict | StoreError>
    /** Removes at most `limit` codes and tokens that expired by `expiredBy`. Returns how many were removed. */
    readonly purge: (expiredBy: DateTime.Utc, limit: number) => Effect.Effect<number, StoreError>
  }
}
