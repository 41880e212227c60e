/** Failure counters in the memory of this process. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import QuickLRU from "quick-lru"
import { type Key, Throttle } from "./Throttle.ts"

/** The failures of one key within a window that began with the first of them. */
interface Count {
  failures: number
  readonly endsAt: number
}

/**
 * So many keys are remembered, and up to twice as many, whoever sends from however many addresses. Then those are let go
 * that nobody asked about for longest, so that the key of an account that is being attacked stays.
 */
const maxSize = 50_000

/** Counts in memory: after a restart, and on each node of its own. */
export const layer: Layer.Layer<Throttle> = Layer.sync(Throttle, () => {
  const counts = new QuickLRU<string, Count>({ maxSize })
  /** When the last window will be over. Behind it nothing is blocked, and nothing need be looked up. */
  let quietFrom = 0

  /** The count of the window that is not over. */
  const current = ({ value }: Key, now: number): Count | undefined => {
    const known = counts.get(value)
    return known !== undefined && known.endsAt > now ? known : undefined
  }

  const count = (key: Key, now: number): void => {
    const known = current(key, now)
    if (known !== undefined) known.failures++
    else {
      const endsAt = now + Duration.toMillis(key.limit.window)
      counts.set(key.value, { failures: 1, endsAt })
      quietFrom = Math.max(quietFrom, endsAt)
    }
  }

  /** For how long the key is blocked: none of its failures is left, and its window is not over. */
  const waitOf = (key: Key, now: number): number => {
    const known = current(key, now)
    return known === undefined || known.failures < key.limit.failures ? 0 : known.endsAt - now
  }

  return {
    blocked: (keys) =>
      Effect.clockWith((clock) => {
        const now = clock.unsafeCurrentTimeMillis()
        if (now >= quietFrom) return Effect.succeedNone
        const wait = keys.reduce((longest, key) => Math.max(longest, waitOf(key, now)), 0)
        return wait > 0 ? Effect.succeedSome(Duration.millis(wait)) : Effect.succeedNone
      }),
    failed: (keys) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        for (const key of keys) count(key, now)
      })
  }
})
