/** Limits on requests and records that one owner of applications can cause. Counted per process. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { UserId } from "@startlist/core/User"
import { TooMany } from "./Refusal.ts"
import { type Limit, Throttle } from "./Throttle.ts"

/** The limited uses: `delivery` is a redelivery or a test event, `backlog` the redelivery of everything that failed. */
export type Use = "validation" | "delivery" | "backlog" | "application"

const limits: Readonly<Record<Use, Limit>> = {
  validation: { failures: 10, window: Duration.minutes(1) },
  delivery: { failures: 60, window: Duration.minutes(1) },
  backlog: { failures: 6, window: Duration.minutes(1) },
  application: { failures: 30, window: Duration.hours(1) }
}

/** Runs `effect` as one use by this owner, or fails with `TooMany`. A use that fails is not counted if `isFree` says so. */
export type Spend = <A, E, R>(
  use: Use,
  owner: UserId,
  effect: Effect.Effect<A, E, R>,
  isFree?: (error: E) => boolean
) => Effect.Effect<A, E | TooMany, R>

export const make: Effect.Effect<Spend, never, Throttle> = Effect.map(
  Throttle,
  (throttle) =>
    Effect.fnUntraced(function*(use, owner, effect, isFree = () => true) {
      const keys = [{ limit: limits[use], value: `${use}:${owner}` }]
      const wait = yield* throttle.take(keys)
      if (Option.isSome(wait)) return yield* TooMany.after(wait.value)
      return yield* Effect.tapError(effect, (error) => isFree(error) ? throttle.giveBack(keys) : Effect.void)
    })
)
