/** Identifier, time and trace of new events: made in one place, for all services that cause events. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { CurrentTrace, EventId, type EventOrigin } from "../Event.ts"
import { Secrets } from "../Secrets.ts"

/** Gives the effect that makes one. */
export const makeOrigins: Effect.Effect<Effect.Effect<EventOrigin>, never, Secrets> = Effect.gen(function*() {
  const secrets = yield* Secrets
  const trace = yield* CurrentTrace
  return Effect.flatMap(
    DateTime.now,
    (time) =>
      Effect.flatMap(
        trace,
        (trace) => Effect.map(secrets.make("event"), (id) => ({ id: EventId.make(Redacted.value(id)), time, trace }))
      )
  )
})
