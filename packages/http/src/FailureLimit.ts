/** Limits on failures: the number of failed attempts before the next one must wait. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Clock from "effect/Clock"
import * as Layer from "effect/Layer"
import { networkOf } from "./ClientAddress.ts"
import QuickLRU from "quick-lru"

/** Maximum number of failures within a window, which starts with the first of them. */
export interface Limit {
  readonly count: number
  readonly window: Duration.Duration
}

/** A counter of failures, such as that of an account and a network. */
export interface Key {
  readonly limit: Limit
  /** Unique over all limits. */
  readonly value: string
}

/** Client authentication. Only failures are counted, and a correct secret is never refused. */
const clientLimit: Limit = { count: 30, window: Duration.minutes(1) }
const clientNetworkLimit: Limit = { count: 300, window: Duration.minutes(1) }

/** The keys for a failed authentication of a client: that client from that network, and the network. */
export const clientKeys = (clientId: number, address: string): ReadonlyArray<Key> => [
  { limit: clientLimit, value: `client:${clientId}@${networkOf(address)}` },
  { limit: clientNetworkLimit, value: `clients@${networkOf(address)}` }
]

/** Refused revocations. Only their audit entries are limited, since anybody can cause them. */
const refusedRevocationLimit: Limit = { count: 30, window: Duration.minutes(1) }

/** The keys for the audit of refused revocations: the network. */
export const refusedRevocationKeys = (address: string): ReadonlyArray<Key> => [
  { limit: refusedRevocationLimit, value: `revocations@${networkOf(address)}` }
]

/** Requests with a wrong operator token. The right token is never refused because of them. */
const operatorLimit: Limit = { count: 30, window: Duration.minutes(1) }

/** The key for a wrong operator token: its network, for all endpoints together. */
export const operatorKeys = (address: string): ReadonlyArray<Key> => [
  { limit: operatorLimit, value: `operator@${networkOf(address)}` }
]

/** Counts attempts. Nodes may share the counters. They may be lost at a restart. */
export class FailureLimit extends Context.Tag("@startlist/http/FailureLimit")<FailureLimit, FailureLimit.Service>() {}

export declare namespace FailureLimit {
  export interface Service {
    /**
     * Takes one attempt of each key. If a key has none left, takes nothing and returns the time to wait. Atomic:
     * parallel calls never take more attempts than are left.
     */
    readonly take: (keys: ReadonlyArray<Key>) => Effect.Effect<Option.Option<Duration.Duration>>
    /** Returns the attempt that was taken, because it did not fail. */
    readonly giveBack: (keys: ReadonlyArray<Key>) => Effect.Effect<void>
  }
}

/** The failures of one key within a window that began with the first of them. */
interface Count {
  count: number
  readonly endsAt: number
}

/**
 * Maximum number of keys (up to twice this between evictions). Least recently used keys are evicted first, so the keys of an
 * attacked account stay.
 */
const maxSize = 50_000

/** Counts in memory. Each process has its own counters, which a restart resets. */
export const layerMemory: Layer.Layer<FailureLimit> = Layer.sync(FailureLimit, () => {
  const counts = new QuickLRU<string, Count>({ maxSize })

  /** The count of the present window. */
  const current = ({ value }: Key, now: number): Count | undefined => {
    const known = counts.get(value)
    return known !== undefined && known.endsAt > now ? known : undefined
  }

  const count = (key: Key, now: number): void => {
    const known = current(key, now)
    if (known !== undefined) known.count++
    else counts.set(key.value, { count: 1, endsAt: now + Duration.toMillis(key.limit.window) })
  }

  /** Milliseconds until the key has attempts left. */
  const waitOf = (key: Key, now: number): number => {
    const known = current(key, now)
    return known === undefined || known.count < key.limit.count ? 0 : known.endsAt - now
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
          if (known !== undefined && known.count > 0) known.count--
        }
      })
  }
})
