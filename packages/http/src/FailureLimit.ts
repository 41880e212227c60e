/**
 * Limits on failures: the number of failed attempts before the next one must wait.
 *
 * Not `rate-limiter-flexible`, which stores an entry and a timer for every key: attackers could fill the memory.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { networksOf } from "./ClientAddress.ts"

/** A maximum number of attempts within a window, which starts with the first of them. */
export interface Rate {
  readonly count: number
  readonly window: Duration.Duration
}

/** A rate with a name. Each limit has a store of its own, so that the counters of one never push out those of another. */
export interface Limit extends Rate {
  readonly name: string
  /** Whether all nodes must share the counters. Default: each node may have its own. */
  readonly ofInstallation?: boolean
}

/** A counter, such as that of an account and a network. */
export interface Key {
  readonly limit: Limit
  /** Unique within the limit. */
  readonly value: string
}

/** The keys of a limit per network. The wider networks of an IPv6 address count too: one customer may have them all. */
export const networkKeys = (limit: Limit, address: string): ReadonlyArray<Key> =>
  networksOf(address).map(({ network, share }) => ({
    limit: share === 1 ? limit : { ...limit, name: `${limit.name} times ${share}`, count: limit.count * share },
    value: network
  }))

/** Client authentication. Only failures are counted, and a correct secret is never refused. */
const clientLimit: Limit = { name: "client from a network", count: 30, window: Duration.minutes(1) }
const clientNetworkLimit: Limit = { name: "clients of a network", count: 300, window: Duration.minutes(1) }

/** The keys for a failed authentication of a client: that client from that network, and the networks. */
export const clientKeys = (clientId: number, address: string): ReadonlyArray<Key> => [
  { limit: clientLimit, value: `${clientId}@${networksOf(address)[0].network}` },
  ...networkKeys(clientNetworkLimit, address)
]

/** Refused revocations. Only their audit entries are limited, since anybody can cause them. */
const refusedRevocationLimit: Limit = { name: "refused revocations", count: 30, window: Duration.minutes(1) }

/** The keys for the audit of refused revocations: the networks. */
export const refusedRevocationKeys = (address: string): ReadonlyArray<Key> =>
  networkKeys(refusedRevocationLimit, address)

/** Requests with a wrong operator token. The right token is never refused because of them. */
const operatorLimit: Limit = { name: "operator tokens", count: 30, window: Duration.minutes(1) }

/** The keys for a wrong operator token: its networks, for all endpoints together. */
export const operatorKeys = (address: string): ReadonlyArray<Key> => networkKeys(operatorLimit, address)

/**
 * Counts attempts. Nodes may share the counters. They may be lost at a restart.
 *
 * @example
 * ```ts
 * import { FailureLimit } from "@startlist/http"
 * import { Duration, Effect } from "effect"
 *
 * const limit = { name: "imports of a club", count: 5, window: Duration.minutes(1) }
 *
 * // The time that this club must wait before it may import again.
 * export const begin = (club: string) =>
 *   Effect.flatMap(FailureLimit.FailureLimit, ({ take }) => take([{ limit, value: club }]))
 * ```
 */
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

/** The attempts of one key within a window that began with the first of them. */
interface Counter {
  count: number
  readonly endsAt: number
}

/** Maximum number of keys of one limit. Each takes about 200 bytes. */
const maxKeys = 10_000

/** Number of keys that are removed together, because finding them takes milliseconds. */
const batch = maxKeys / 10

/**
 * Removes the counters whose window is over, then those with the smallest counts, the oldest first. So strangers who use
 * many keys cannot make the service forget a key that is close to its limit.
 */
const makeRoom = (counters: Map<string, Counter>, now: number): void => {
  for (const [value, { endsAt }] of counters) if (endsAt <= now) counters.delete(value)
  if (counters.size <= maxKeys - batch) return
  const smallestFirst = [...counters].sort(([, one], [, other]) => one.count - other.count)
  for (const [value] of smallestFirst.slice(0, batch)) counters.delete(value)
}

/** Counts in memory. Each process has its own counters, which a restart resets. */
export const layerMemory: Layer.Layer<FailureLimit> = Layer.sync(FailureLimit, () => {
  const stores = new Map<string, Map<string, Counter>>()

  const storeOf = ({ name }: Limit): Map<string, Counter> => {
    const store = stores.get(name) ?? new Map<string, Counter>()
    stores.set(name, store)
    return store
  }

  /** The counter of the present window. */
  const current = ({ limit, value }: Key, now: number): Counter | undefined => {
    const known = storeOf(limit).get(value)
    const left = known === undefined ? 0 : known.endsAt - now
    // More than a window is left if the clock was set back.
    return left > 0 && left <= Duration.toMillis(limit.window) ? known : undefined
  }

  const count = (key: Key, now: number): void => {
    const known = current(key, now)
    if (known !== undefined) {
      known.count++
      return
    }
    const store = storeOf(key.limit)
    if (store.size >= maxKeys) makeRoom(store, now)
    // Removed first, so that the order of the keys is that of their windows.
    store.delete(key.value)
    store.set(key.value, { count: 1, endsAt: now + Duration.toMillis(key.limit.window) })
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
          // A key that is given back completely begins a new window: what runs in it is never forgotten before its end.
          if (known !== undefined && --known.count <= 0) storeOf(key.limit).delete(key.value)
        }
      })
  }
})
