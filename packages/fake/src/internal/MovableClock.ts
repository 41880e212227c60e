/** A clock that follows the real time and can be moved forward. Sleeping fibers wake up when their time has come. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export interface MovableClock extends Clock.Clock {
  /** Moves the time forward to this instant, in milliseconds since 1970. An earlier one changes nothing. */
  readonly moveTo: (millis: number) => void
}

interface Sleeper {
  readonly wakesAt: number
  readonly wake: () => void
  timer: NodeJS.Timeout | undefined
}

/** The longest delay of `setTimeout`. */
const maxDelay = 2 ** 31 - 1

export const make = (): MovableClock => {
  let offset = 0
  const sleepers = new Set<Sleeper>()
  const now = () => Date.now() + offset
  const nanos = () => BigInt(now()) * 1_000_000n

  /** Wakes a sleeping fiber if its time has come, or checks again later. */
  const check = (sleeper: Sleeper): void => {
    clearTimeout(sleeper.timer)
    const left = sleeper.wakesAt - now()
    if (left > 0) {
      sleeper.timer = setTimeout(check, Math.min(left, maxDelay), sleeper)
      return
    }
    sleepers.delete(sleeper)
    sleeper.wake()
  }

  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.async<void>((resume) => {
        const millis = Duration.toMillis(duration)
        if (!Number.isFinite(millis)) return
        const wake = () => resume(Effect.void)
        const sleeper: Sleeper = { wakesAt: now() + millis, wake, timer: undefined }
        sleepers.add(sleeper)
        check(sleeper)
        return Effect.sync(() => {
          clearTimeout(sleeper.timer)
          sleepers.delete(sleeper)
        })
      }),
    moveTo: (millis) => {
      offset += Math.max(0, millis - now())
      for (const sleeper of sleepers) check(sleeper)
    }
  }
}
