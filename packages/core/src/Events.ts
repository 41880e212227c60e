/** Events about registrations that the embedding server stores itself, under its own identifiers. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { type EventId, Sequence, Updates } from "./Event.ts"
import { makeOrigins } from "./internal/eventOrigins.ts"
import { changedEvent, type Parties, type RegistrationId } from "./Registration.ts"
import type { Secrets } from "./Secrets.ts"
import type { StoreError } from "./Store.ts"

/** A registration of the embedding server as it is after a change. */
export interface Changed {
  /** The server's own identifier: the `object_id` of the event. */
  readonly id: RegistrationId
  /** The users whose applications are notified. */
  readonly parties: Parties
  readonly updates: Updates
  /**
   * Grows with each change of this registration, such as its version in the server's database (0 to 2^53 - 1). Default:
   * the time in milliseconds, which does not order changes by nodes whose clocks differ.
   */
  readonly sequence?: number | undefined
}

export class Events extends Context.Tag("@startlist/core/Events")<Events, Events.Service>() {}

export declare namespace Events {
  export interface Service {
    /**
     * Notifies every concerned application of a changed registration (requirements §6.1). For registrations in
     * `Registrations`, `Registrations.change` does this. In a transaction that the store joins, the event is saved with
     * the server's own change. Returns the `webhook-id`.
     */
    readonly registrationChanged: (changed: Changed) => Effect.Effect<EventId, StoreError>
  }
}

const make = Effect.gen(function*() {
  const queue = yield* DeliveryQueue
  const origins = yield* makeOrigins

  const registrationChanged = Effect.fn("Events.registrationChanged")(function*(changed: Changed) {
    const origin = yield* origins
    // Input of an embedder is checked here. Startlist's own registrations are checked when they are made.
    const updates = Updates.make(changed.updates)
    const version = Sequence.make(changed.sequence ?? origin.time.epochMillis)
    yield* queue.enqueue([changedEvent({ ...changed, updates, version }, origin)])
    return origin.id
  })

  return Events.of({ registrationChanged })
})

export const layer: Layer.Layer<Events, never, DeliveryQueue | Secrets> = Layer.effect(Events, make)
