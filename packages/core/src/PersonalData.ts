/** What Startlist stores about a person, and its erasure (law 13). */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ApplicationStore } from "./Application.ts"
import { Audit, Entry } from "./Audit.ts"
import { makeOrigins } from "./Event.ts"
import { GrantStore, revokeByUser } from "./Grant.ts"
import { type Authorized, OAuth } from "./OAuth.ts"
import { PersonStore } from "./PersonStore.ts"
import type { Registration, RegistrationId } from "./Registration.ts"
import { type StoreError, untilSaved } from "./Store.ts"
import type { UserId } from "./User.ts"

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
  const oauth = yield* OAuth
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
    export: (id) => Effect.all({ grants: oauth.authorized(id), registrations: store.registrations(id) })
  })
})

/** The service over its ports. */
export const layer = Layer.effect(PersonalData, make)
