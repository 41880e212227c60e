/** The store port of erased users, and of everything that an erasure clears. */
import * as Context from "effect/Context"
import type * as DateTime from "effect/DateTime"
import type * as Effect from "effect/Effect"
import type { Change } from "./Grant.ts"
import type { Registration, RegistrationId } from "./Registration.ts"
import type { Conflict, StoreError } from "./Store.ts"
import type { UserId } from "./User.ts"

/** One erasure: the person, its time, and what the store cannot find by itself. */
export interface Erasure {
  readonly userId: UserId
  readonly at: DateTime.Utc
  /** The revocation of each active grant, with its event. */
  readonly revocations: ReadonlyArray<Change>
  /** Registrations of the person that the embedding server stores itself: only their events are here. */
  readonly registrationIds: ReadonlyArray<RegistrationId>
}

/** Store of erased users, over all other records of a person. Every method is atomic. */
export class PersonStore extends Context.Tag("@startlist/core/PersonStore")<PersonStore, PersonStore.Service>() {}

export declare namespace PersonStore {
  export interface Service {
    /** Whether this user was erased. It stays true forever. */
    readonly isErased: (id: UserId) => Effect.Effect<boolean, StoreError>
    /** The registrations of an athlete, oldest first. */
    readonly registrations: (id: UserId) => Effect.Effect<ReadonlyArray<Registration>, StoreError>
    /**
     * Erases a person, all or nothing. `Conflict`, unless the revocations are the next versions of all active grants, and
     * all applications of this owner have ended.
     *
     * - Queues the deliveries of the revocations, and removes every grant of the user.
     * - Notes that the user is erased, forever: from then on, a first grant of the user and a new registration of this
     *   athlete get a `Conflict`, and the user cannot become the owner of an application.
     * - Saves the next version of the athlete's registrations, with `emptyUpdates`.
     * - Clears these fields and the attempts in all deliveries about these registrations and `registrationIds`, also in
     *   copies that are made at the same time. Pending ones are cancelled, and their claims end.
     */
    readonly erase: (erasure: Erasure) => Effect.Effect<void, Conflict | StoreError>
  }
}
