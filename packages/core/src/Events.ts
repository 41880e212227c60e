/** Events about registrations that the embedding server keeps itself, under identifiers of its own. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { type EventId, Updates } from "./Event.ts"
import { makeOrigins } from "./internal/eventOrigins.ts"
import { type Parties, type RegistrationId, toldOf } from "./Registration.ts"
import type { Secrets } from "./Secrets.ts"
import type { StoreError } from "./Store.ts"

/** A registration of the embedding server as it is after a change. */
export interface Changed {
  /** The server's own identifier: the `object_id` of the event. */
  readonly id: RegistrationId
  /** The users whose applications hear of it. */
  readonly parties: Parties
  readonly updates: Updates
}

export class Events extends Context.Tag("@startlist/core/Events")<Events, Events.Service>() {}

export declare namespace Events {
  export interface Service {
    /**
     * Tells every application concerned of a changed registration (requirements §6.1). A server whose registrations are
     * in `Registrations` has this from `Registrations.change`, which knows whether anything changed; here the server
     * knows. Inside a transaction of a store that joins it, the event is saved with the server's own change.
     *
     * Answers the `webhook-id`.
     */
    readonly registrationChanged: (changed: Changed) => Effect.Effect<EventId, StoreError>
  }
}

const make = Effect.gen(function*() {
  const queue = yield* DeliveryQueue
  const origins = yield* makeOrigins

  const registrationChanged = Effect.fn("Events.registrationChanged")(function*(changed: Changed) {
    const origin = yield* origins
    // Input from outside is checked here. Our own registrations are checked when they are made.
    const updates = Updates.make(changed.updates)
    yield* queue.enqueue([toldOf({ ...changed, updates }, origin)])
    return origin.id
  })

  return Events.of({ registrationChanged })
})

export const layer: Layer.Layer<Events, never, DeliveryQueue | Secrets> = Layer.effect(Events, make)
