/** Failure counters in the memory of this process. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import QuickLRU from "quick-lru"
import { type Key, Throttle } from "./Throttle.ts"

/** The failures of one key within a window that began with the first of them. */
interface Count {
  failures: number
  readonly endsAt: number
}

/**
 * Maximum number of keys (up to twice this between evictions). Least recently used keys are evicted first, so the keys of an
 * attacked account stay.
 */
const maxSize = 50_000

/** Counts in memory. Each process has its own counters, which a restart resets. */
export const layer: Layer.Layer<Throttle> = Layer.sync(Throttle, () => {
  const counts = new QuickLRU<string, Count>({ maxSize })

  /** The count of the present window. */
  const current = ({ value }: Key, now: number): Count | undefined => {
    const known = counts.get(value)
    return known !== undefined && known.endsAt > now ? known : undefined
  }

  const count = (key: Key, now: number): void => {
    const known = current(key, now)
    if (known !== undefined) known.failures++
    else counts.set(key.value, { failures: 1, endsAt: now + Duration.toMillis(key.limit.window) })
  }

  /** Milliseconds until the key has attempts left. */
  const waitOf = (key: Key, now: number): number => {
    const known = current(key, now)
    return known === undefined || known.failures < key.limit.failures ? 0 : known.endsAt - now
  }

  return {
    take: (keys) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const wait = keys.reduce((longest, key) => Math.max(longest, waitOf(key, now)), 0)
        if (wait > 0) return Option.some(Duration.millis(wait))
        for (const key of keys) count(key, now)
        return Option.none()
      }),
    giveBack: (keys) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        for (const key of keys) {
          const known = current(key, now)
          if (known !== undefined && known.failures > 0) known.failures--
        }
      })
  }
})
