/** A registration of an athlete for a sports event: its parties, and the fields that its events report. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Audience, type EventOrigin, ObjectId, type Outgoing, Updates } from "./Event.ts"
import { type Conflict, type StoreError, Version } from "./Store.ts"
import { UserId } from "./User.ts"

/** The `object_id` of registration events. */
export const RegistrationId = ObjectId.pipe(Schema.brand("@startlist/RegistrationId"))
export type RegistrationId = typeof RegistrationId.Type

/** The users whose applications are notified of this registration. */
export const Parties = Schema.Struct({
  athleteId: UserId,
  organizerId: Schema.OptionFromNullOr(UserId),
  clubId: Schema.OptionFromNullOr(UserId),
  platformUserId: Schema.OptionFromNullOr(UserId)
})
export type Parties = typeof Parties.Type

/** A registration as it is stored. */
export const Registration = Schema.Struct({ id: RegistrationId, version: Version, parties: Parties, updates: Updates })
export type Registration = typeof Registration.Type

/** A registration without an identifier. The store gives one, and saves version 1. */
export const NewRegistration = Registration.omit("id", "version")
export type NewRegistration = typeof NewRegistration.Type

/** Empty fields: `""` and `[]`. */
export const emptyUpdates: Updates = {
  platform_id: "",
  registration_status: "",
  document_type: "",
  document_status: "",
  reasons: [],
  comment: ""
}

/** No registration has this identifier. */
export class RegistrationNotFound
  extends Schema.TaggedError<RegistrationNotFound>()("@startlist/core/RegistrationNotFound", {
    registrationId: RegistrationId
  })
{}

/** A party is not a user, or has another role. `field` is the wire name: `athlete_id`, … */
export class InvalidParty extends Schema.TaggedError<InvalidParty>()("@startlist/core/InvalidParty", {
  field: Schema.Literal("athlete_id", "organizer_id", "club_id", "platform_user_id"),
  message: Schema.String
}) {}

/** Store of registrations. Every method is atomic. */
export class RegistrationStore extends Context.Tag("@startlist/core/RegistrationStore")<
  RegistrationStore,
  RegistrationStore.Service
>() {}

export declare namespace RegistrationStore {
  export interface Service {
    /** The registration with this identifier. */
    readonly find: (id: RegistrationId) => Effect.Effect<Option.Option<Registration>, StoreError>
    /** `Conflict` if the athlete was erased (`PersonStore`). */
    readonly insert: (registration: NewRegistration) => Effect.Effect<Registration, Conflict | StoreError>
    /** Saves `next` over version `next.version - 1` with the deliveries of its events, both or neither. */
    readonly save: (
      next: Registration,
      outgoing: ReadonlyArray<Outgoing>
    ) => Effect.Effect<void, Conflict | StoreError>
  }
}

/** All parties of a registration. */
export const partyIds = (parties: Parties): ReadonlyArray<UserId> => [
  parties.athleteId,
  ...Option.toArray(parties.organizerId),
  ...Option.toArray(parties.clubId),
  ...Option.toArray(parties.platformUserId)
]

/** The event of a changed registration for the parties' applications (requirements §6.1). */
export const changedEvent = ({ id, parties, updates, version }: Registration, origin: EventOrigin): Outgoing => ({
  event: { aspectType: "updated", objectType: "registration", objectId: id, sequence: version, updates, ...origin },
  audience: Audience.GrantedBy({ userIds: partyIds(parties) })
})

/** The next version and its event (requirements §6.1), or none if nothing changes. */
export const change = (
  registration: Registration,
  patch: Partial<Updates>,
  origin: EventOrigin
): Option.Option<{ readonly registration: Registration; readonly outgoing: ReadonlyArray<Outgoing> }> => {
  const updates: Updates = { ...registration.updates, ...checkPatch(patch) }
  if (isSame(updates, registration.updates)) return Option.none()
  const next = { ...registration, version: registration.version + 1, updates }
  return Option.some({ registration: next, outgoing: [changedEvent(next, origin)] })
}

const isSame = Schema.equivalence(Updates)

/** Checks only the changed fields. */
const checkPatch = Schema.validateSync(Schema.partialWith(Updates, { exact: true }))
