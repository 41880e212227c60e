/** Registrations and their changes. Each change is saved together with its events. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { type EventId, makeOrigins, Sequence, Updates } from "./Event.ts"
import * as Registration from "./Registration.ts"
import { InvalidParty, RegistrationNotFound, RegistrationStore } from "./Registration.ts"
import { foundOr, type StoreError, untilSaved } from "./Store.ts"
import { type Role, type UserId, UserStore } from "./User.ts"

/** A registration of the embedding server after a change. Its `id`, the server's own, is the `object_id` of the event. */
export interface ChangedElsewhere extends Omit<Registration.Registration, "version"> {
  /** Grows with each change, 0 to 2^53 - 1. Default: milliseconds, which do not order nodes whose clocks differ. */
  readonly sequence?: number | undefined
}

/**
 * Stores registrations, and notifies applications of their changes.
 * @example
 * ```ts
 * import { type Registration, Registrations } from "@startlist/core"
 * import { Effect } from "effect"
 * export const validate = (id: Registration.RegistrationId) =>
 *   Effect.flatMap(Registrations.Registrations, (registrations) =>
 *     registrations.change(id, { registration_status: "validated" }))
 * ```
 */
export class Registrations extends Context.Tag("@startlist/core/Registrations")<
  Registrations,
  Registrations.Service
>() {}

export declare namespace Registrations {
  export interface Service {
    /** Stores a new registration. It causes no event, because its status has not changed. */
    readonly create: (
      registration: Registration.NewRegistration
    ) => Effect.Effect<Registration.Registration, InvalidParty | StoreError>
    /** Finds a registration in Startlist. */
    readonly find: (
      id: Registration.RegistrationId
    ) => Effect.Effect<Registration.Registration, RegistrationNotFound | StoreError>
    /** Changes any of the six fields. The events for all concerned subscriptions are saved with the change. */
    readonly change: (
      id: Registration.RegistrationId,
      patch: Partial<Updates>
    ) => Effect.Effect<Registration.Registration, RegistrationNotFound | StoreError>
    /**
     * Notifies of a registration that the server stores itself (requirements §6.1), in its transaction if the store
     * joins it. Returns the `webhook-id`.
     */
    readonly notify: (changed: ChangedElsewhere) => Effect.Effect<EventId, StoreError>
  }
}

const make = Effect.gen(function*() {
  const queue = yield* DeliveryQueue
  const store = yield* RegistrationStore
  const users = yield* UserStore
  const origins = yield* makeOrigins

  const find = (id: Registration.RegistrationId) =>
    foundOr(store.find(id), () => new RegistrationNotFound({ registrationId: id }))

  const checkParty = (field: InvalidParty["field"], role: Role, party: Option.Option<UserId>) =>
    Option.isNone(party)
      ? Effect.void
      : Effect.flatMap(users.find(party.value), (user) =>
        Option.exists(user, (found) => found.role === role)
          ? Effect.void
          : new InvalidParty({ field, message: `must be a user with the role ${role}` }))

  const create = Effect.fn("Registrations.create")(function*(registration: Registration.NewRegistration) {
    const { athleteId, clubId, organizerId, platformUserId } = registration.parties
    yield* checkParty("athlete_id", "athlete", Option.some(athleteId))
    yield* checkParty("organizer_id", "organizer", organizerId)
    yield* checkParty("club_id", "club", clubId)
    yield* checkParty("platform_user_id", "platform", platformUserId)
    return yield* Effect.catchTag(
      store.insert(registration),
      "@startlist/core/Conflict",
      () => new InvalidParty({ field: "athlete_id", message: "must be a user who was not erased" })
    )
  })

  // No span on a hot path: it would cost more than the decision.
  const change = Effect.fnUntraced(function*(id: Registration.RegistrationId, patch: Partial<Updates>) {
    const origin = yield* origins
    return yield* untilSaved(
      Effect.flatMap(find(id), (present) =>
        Option.match(Registration.change(present, patch, origin), {
          onNone: () => Effect.succeed(present),
          onSome: ({ outgoing, registration }) => Effect.as(store.save(registration, outgoing), registration)
        }))
    )
  })

  const notify = Effect.fn("Registrations.notify")(function*(changed: ChangedElsewhere) {
    const origin = yield* origins
    // Input of an embedder is checked here. Startlist's own registrations are checked when they are made.
    const updates = Updates.make(changed.updates)
    const version = Sequence.make(changed.sequence ?? origin.time.epochMillis)
    yield* queue.enqueue([Registration.changedEvent({ ...changed, updates, version }, origin)])
    return origin.id
  })

  return Registrations.of({ change, create, find, notify })
})

/** The service over its ports. */
export const layer = Layer.effect(Registrations, make)
