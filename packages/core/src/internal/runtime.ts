/** Cheaper uses of Effect's runtime, for hot paths: `DateTime.now` takes five steps, a fiber more than the request. */
import type * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as Queue from "effect/Queue"

/** Makes instants from milliseconds since 1970, and the same one again for the same millisecond: that is cheaper. */
export const makeInstants = (): (millis: number) => DateTime.Utc => {
  let last = DateTime.unsafeMake(0)
  return (millis) => {
    if (millis !== last.epochMillis) last = DateTime.unsafeMake(millis)
    return last
  }
}

/** Reads a clock outside of an effect. */
export const makeNow = (clock: Clock.Clock): () => DateTime.Utc => {
  const toInstant = makeInstants()
  return () => toInstant(clock.unsafeCurrentTimeMillis())
}

/** Reads the clock, and continues with the instant, in one step. */
export const makeWithNow = () => {
  const toInstant = makeInstants()
  return <A, E, R>(use: (now: DateTime.Utc) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.clockWith((clock) => use(toInstant(clock.unsafeCurrentTimeMillis())))
}

/** Offers to a sliding queue without a fiber. */
export const signal = (queue: Queue.Enqueue<void>): void => void queue.unsafeOffer(undefined)
