/** Limits on callback validations: slow callbacks must not block other applications. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ApplicationId } from "@startlist/core/Application"
import { Policy } from "@startlist/core/Policy"
import { Busy, TooMany } from "../Refusal.ts"

/** Maximum number of validations at the same time in this process. */
const maxRunning = 64

/** Runs the validation of an application, if it has no other one running. */
export type Alone = <A, E, R>(
  id: ApplicationId,
  validation: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | TooMany | Busy, R>

export const make: Effect.Effect<Alone> = Effect.map(Policy, ({ callbackTimeout }) => {
  const running = new Set<ApplicationId>()
  const wait = TooMany.after(Duration.max(callbackTimeout, Duration.seconds(1)))
  return <A, E, R>(id: ApplicationId, validation: Effect.Effect<A, E, R>) =>
    Effect.suspend((): Effect.Effect<A, E | TooMany | Busy, R> => {
      if (running.has(id)) return wait
      if (running.size >= maxRunning) return new Busy()
      running.add(id)
      return Effect.ensuring(validation, Effect.sync(() => running.delete(id)))
    })
})
