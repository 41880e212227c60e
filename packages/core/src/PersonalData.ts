/** What Startlist stores about a person, and its erasure (law 13). */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { revokeByUser } from "./Grant.ts"
import { GrantStore } from "./GrantStore.ts"
import { makeOrigins } from "./internal/eventOrigins.ts"
import { type Authorized, OAuth } from "./OAuth.ts"
import { PersonStore } from "./PersonStore.ts"
import type { Registration, RegistrationId } from "./Registration.ts"
import type { Secrets } from "./Secrets.ts"
import { type StoreError, untilSaved } from "./Store.ts"
import type { UserId } from "./User.ts"

/** The records about a person, but for those of the server with the users. */
export interface Exported {
  readonly grants: ReadonlyArray<Authorized>
  readonly registrations: ReadonlyArray<Registration>
}

export class PersonalData extends Context.Tag("@startlist/core/PersonalData")<PersonalData, PersonalData.Service>() {}

export declare namespace PersonalData {
  export interface Service {
    readonly export: (id: UserId) => Effect.Effect<Exported, StoreError>
    /**
     * Erases a person in one save: revokes the grants with events, clears the texts of registrations and their events, and
     * cancels pending deliveries with such texts. Returns the number of revoked grants.
     *
     * A consent or a new registration at the same moment is either erased or refused, and so is every later one: the
     * identifier must not be given to another user. May be repeated. `registrationIds`: registrations of the person that
     * the server reports with `Events.registrationChanged`.
     */
    readonly erase: (
      id: UserId,
      registrationIds?: ReadonlyArray<RegistrationId>
    ) => Effect.Effect<number, StoreError>
  }
}

const make = Effect.gen(function*() {
  const grants = yield* GrantStore
  const oauth = yield* OAuth
  const origins = yield* makeOrigins
  const store = yield* PersonStore

  const erase = Effect.fn("PersonalData.erase")(
    function*(userId: UserId, registrationIds: ReadonlyArray<RegistrationId> = []) {
      const at = yield* DateTime.now
      return yield* untilSaved(Effect.gen(function*() {
        const revocations = yield* Effect.forEach(
          yield* grants.listByUser(userId),
          (grant) => Effect.map(origins, (origin) => revokeByUser(grant, origin))
        )
        yield* store.erase({ userId, at, revocations, registrationIds })
        return revocations.length
      }))
    }
  )

  return PersonalData.of({
    erase,
    export: (id) => Effect.all({ grants: oauth.authorized(id), registrations: store.registrations(id) })
  })
})

export const layer: Layer.Layer<PersonalData, never, GrantStore | OAuth | PersonStore | Secrets> = Layer.effect(
  PersonalData,
  make
)
