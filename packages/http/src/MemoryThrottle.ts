/** Failure counters in the memory of this process. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible"
import { type Key, type Limit, Throttle } from "./Throttle.ts"

/** So many blocked keys are remembered; beyond, the oldest are let go. */
const maxBlocked = 100_000

/** Counts in memory: after a restart, and on each node of its own. */
export const layer: Layer.Layer<Throttle> = Layer.sync(Throttle, () => {
  const limiters = new Map<Limit, RateLimiterMemory>()
  /** When each blocked key is free again. Kept apart from the counters, so that asking is one look-up. */
  const blockedUntil = new Map<string, number>()

  const limiterOf = (limit: Limit): RateLimiterMemory => {
    const known = limiters.get(limit)
    if (known !== undefined) return known
    const made = new RateLimiterMemory({ points: limit.failures, duration: Duration.toSeconds(limit.window) })
    limiters.set(limit, made)
    return made
  }

  const block = (value: string, until: number): void => {
    for (const oldest of blockedUntil.keys()) {
      if (blockedUntil.size < maxBlocked) break
      blockedUntil.delete(oldest)
    }
    blockedUntil.set(value, until)
  }

  /** How long the key is blocked from now on: it has used up its last failure, or more. */
  const count = ({ limit, value }: Key): Effect.Effect<Option.Option<number>> =>
    Effect.tryPromise({
      try: () => limiterOf(limit).consume(value),
      catch: (refused) => refused
    }).pipe(
      Effect.map((result) => result.remainingPoints > 0 ? Option.none() : Option.some(result.msBeforeNext)),
      Effect.catchAll((refused) =>
        refused instanceof RateLimiterRes ? Effect.succeedSome(refused.msBeforeNext) : Effect.die(refused)
      )
    )

  return {
    blocked: (keys) =>
      blockedUntil.size === 0
        ? Effect.succeedNone
        : Effect.map(Clock.currentTimeMillis, (now) => {
          let wait = 0
          for (const { value } of keys) {
            const left = (blockedUntil.get(value) ?? now) - now
            if (left < 0) blockedUntil.delete(value)
            wait = Math.max(wait, left)
          }
          return wait > 0 ? Option.some(Duration.millis(wait)) : Option.none()
        }),
    failed: (keys) =>
      Effect.forEach(keys, (key) =>
        Effect.flatMap(
          count(key),
          Option.match({
            onNone: () => Effect.void,
            onSome: (wait) => Effect.map(Clock.currentTimeMillis, (now) => block(key.value, now + wait))
          })
        ), { discard: true })
  }
})
