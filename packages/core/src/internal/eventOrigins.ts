/** Identifier, time and trace of new events, for all services that cause events. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { CurrentTrace, EventId, type EventOrigin } from "../Event.ts"
import { Secrets } from "../Secrets.ts"
import { makeInstants } from "./instants.ts"

/** Makes the effect that makes an origin. Reads the clock in one step: `DateTime.now` takes five. */
export const makeOrigins: Effect.Effect<Effect.Effect<EventOrigin>, never, Secrets> = Effect.gen(function*() {
  const secrets = yield* Secrets
  const currentTrace = yield* CurrentTrace
  const toInstant = makeInstants()
  return Effect.clockWith((clock) => {
    const time = toInstant(clock.unsafeCurrentTimeMillis())
    return Effect.flatMap(
      currentTrace,
      (trace) => Effect.map(secrets.make("event"), (id) => ({ id: EventId.make(Redacted.value(id)), time, trace }))
    )
  })
})
