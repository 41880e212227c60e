/** The data of a person, and their erasure (law 13): the store port and the service. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ApplicationStore } from "./Application.ts"
import { Audit, Entry } from "./Audit.ts"
import { makeOrigins } from "./Event.ts"
import { type Authorized, type Change, GrantStore, makeAuthorized, revokeByUser } from "./Grant.ts"
import type { Registration, RegistrationId } from "./Registration.ts"
import { type Conflict, type StoreError, untilSaved } from "./Store.ts"
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

/** The person still owns applications. End them, or give them another owner, first. */
export class OwnsApplications extends Schema.TaggedError<OwnsApplications>()("@startlist/core/OwnsApplications", {}) {}

/** The records about a person, but for those of the server with the users. */
export interface Exported {
  readonly grants: ReadonlyArray<Authorized>
  readonly registrations: ReadonlyArray<Registration>
}

/**
 * Exports and erases what Startlist stores about a person.
 * @example
 * ```ts
 * import { PersonalData, type User } from "@startlist/core"
 * import { Effect } from "effect"
 * export const erase = (id: User.UserId) =>
 *   Effect.flatMap(PersonalData.PersonalData, (personalData) => personalData.erase(id))
 * ```
 */
export class PersonalData extends Context.Tag("@startlist/core/PersonalData")<PersonalData, PersonalData.Service>() {}

export declare namespace PersonalData {
  export interface Service {
    /** The grants and registrations of a person. */
    readonly export: (id: UserId) => Effect.Effect<Exported, StoreError>
    /**
     * Erases a person in one save (`PersonStore.erase`), and returns the number of revoked grants. A consent or a new
     * registration at this moment is erased or refused, and every later one refused: never reuse the identifier.
     * `registrationIds`: those that the server reports with `Registrations.notify`. May be repeated.
     */
    readonly erase: (
      id: UserId,
      registrationIds?: ReadonlyArray<RegistrationId>
    ) => Effect.Effect<number, OwnsApplications | StoreError>
  }
}

const make = Effect.gen(function*() {
  const applications = yield* ApplicationStore
  const audit = yield* Audit
  const grants = yield* GrantStore
  const authorized = yield* makeAuthorized
  const origins = yield* makeOrigins
  const store = yield* PersonStore

  const erase = Effect.fn("PersonalData.erase")(
    function*(userId: UserId, registrationIds: ReadonlyArray<RegistrationId> = []) {
      const at = yield* DateTime.now
      return yield* untilSaved(Effect.gen(function*() {
        const owned = yield* applications.list({ owner: Option.some(userId), after: Option.none(), limit: 1 })
        if (owned.length > 0) return yield* new OwnsApplications()
        const revocations = yield* Effect.forEach(
          yield* grants.listByUser(userId),
          (grant) => Effect.map(origins, (origin) => revokeByUser(grant, origin))
        )
        yield* store.erase({ userId, at, revocations, registrationIds })
        const count = revocations.length
        if (count > 0) yield* audit.record(Entry.GrantsRevoked({ by: "user", count }))
        return count
      }))
    }
  )

  return PersonalData.of({
    erase,
    export: (id) => Effect.all({ grants: authorized(id), registrations: store.registrations(id) })
  })
})

/** The service over its ports. */
export const layer = Layer.effect(PersonalData, make)
