/** Limits on requests and records that one owner of applications can cause, and on validations of callbacks. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Application } from "@startlist/core/Application"
import { Policy } from "@startlist/core/Policy"
import type { UserId } from "@startlist/core/User"
import { FailureLimit, type Key, type Rate } from "./FailureLimit.ts"
import { Busy, TooMany } from "./Refusal.ts"

/** The limited uses: `delivery` is a redelivery or a test event, `backlog` the redelivery of everything that failed. */
export type Use = "validation" | "delivery" | "backlog" | "application"

const limits: Readonly<Record<Use, Rate>> = {
  validation: { count: 10, window: Duration.minutes(1) },
  delivery: { count: 60, window: Duration.minutes(1) },
  backlog: { count: 6, window: Duration.minutes(1) },
  application: { count: 30, window: Duration.hours(1) }
}

/** Maximum number of validations at the same time: slow callbacks must not block the requests of others. */
const maxRunning = 64

/** Time for a validation besides that of the callback: then it counts as ended, because its process has ended. */
const validationGrace = Duration.seconds(5)

/** No request was sent to the callback. */
const isBeforeValidation = ({ _tag }: { readonly _tag: string }): boolean => _tag !== "@startlist/core/ValidationFailed"

/** Runs what one owner of applications causes, within limits. */
export interface OwnerLimits {
  /** Runs `effect` as one use by this owner, or fails with `TooMany`. A use that fails is not counted if `isFree` says so. */
  readonly spend: <A, E, R>(
    use: Use,
    owner: UserId,
    effect: Effect.Effect<A, E, R>,
    isFree?: (error: E) => boolean
  ) => Effect.Effect<A, E | TooMany, R>
  /** Runs the validation of an application as a use by its owner, if the application has no other one running. */
  readonly validate: <A, E extends { readonly _tag: string }, R>(
    application: Pick<Application, "id" | "ownerId">,
    validation: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | TooMany | Busy, R>
}

/** Makes the limits. All that count by the same `FailureLimit` share them. */
export const make: Effect.Effect<OwnerLimits, never, FailureLimit> = Effect.gen(function*() {
  const counters = yield* FailureLimit
  const { callbackTimeout } = yield* Policy

  const spend: OwnerLimits["spend"] = Effect.fnUntraced(function*(use, owner, effect, isFree = () => true) {
    const keys = [{ limit: { name: `${use} of an owner`, ofInstallation: true, ...limits[use] }, value: String(owner) }]
    const wait = yield* counters.take(keys)
    if (Option.isSome(wait)) return yield* TooMany.after(wait.value)
    return yield* Effect.tapError(effect, (error) => isFree(error) ? counters.giveBack(keys) : Effect.void)
  })

  const window = Duration.sum(callbackTimeout, validationGrace)
  const all: Key = {
    limit: { name: "running validations", ofInstallation: true, count: maxRunning, window },
    value: "all"
  }

  /** Takes the right to run a validation. */
  const begin = Effect.fnUntraced(function*({ id }: Pick<Application, "id">) {
    const own: Key = {
      limit: { name: "running validation of an application", ofInstallation: true, count: 1, window },
      value: String(id)
    }
    if (Option.isSome(yield* counters.take([own]))) {
      return yield* TooMany.after(Duration.max(callbackTimeout, Duration.seconds(1)))
    }
    if (Option.isNone(yield* counters.take([all]))) return [own, all]
    yield* counters.giveBack([own])
    return yield* new Busy()
  })

  return {
    spend,
    validate: (application, validation) =>
      Effect.acquireUseRelease(
        begin(application),
        () => spend("validation", application.ownerId, validation, isBeforeValidation),
        counters.giveBack
      )
  }
})
