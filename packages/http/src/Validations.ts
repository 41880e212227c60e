/** Limits on callback validations: slow callbacks must not block other applications. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Application, ApplicationId } from "@startlist/core/Application"
import { Policy } from "@startlist/core/Policy"
import * as Allowance from "./Allowance.ts"
import { Busy, TooMany } from "./Refusal.ts"
import { Throttle } from "./Throttle.ts"

/** Maximum number of validations at the same time in this process. */
const maxRunning = 64

/** The applications whose validation is running. Everything that counts by the same throttle shares them. */
const runningBy = new WeakMap<Throttle.Service, Set<ApplicationId>>()

const runningOf = (throttle: Throttle.Service): Set<ApplicationId> => {
  const running = runningBy.get(throttle) ?? new Set()
  runningBy.set(throttle, running)
  return running
}

/** No request was sent to the callback. */
const isBeforeValidation = ({ _tag }: { readonly _tag: string }): boolean => _tag !== "ValidationFailed"

/** Runs the validation of an application as a use by its owner, if the application has no other one running. */
export type Validate = <A, E extends { readonly _tag: string }, R>(
  application: Pick<Application, "id" | "ownerId">,
  validation: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | TooMany | Busy, R>

export const make: Effect.Effect<Validate, never, Throttle> = Effect.gen(function*() {
  const { callbackTimeout } = yield* Policy
  const running = runningOf(yield* Throttle)
  const spend = yield* Allowance.make
  const wait = TooMany.after(Duration.max(callbackTimeout, Duration.seconds(1)))
  return <A, E extends { readonly _tag: string }, R>(
    { id, ownerId }: Pick<Application, "id" | "ownerId">,
    validation: Effect.Effect<A, E, R>
  ) =>
    Effect.suspend((): Effect.Effect<A, E | TooMany | Busy, R> => {
      if (running.has(id)) return wait
      if (running.size >= maxRunning) return new Busy()
      running.add(id)
      return Effect.ensuring(
        spend("validation", ownerId, validation, isBeforeValidation),
        Effect.sync(() => running.delete(id))
      )
    })
})
