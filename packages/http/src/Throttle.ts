/** Limits on guesses: the number of failed attempts before the next one must wait. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import ipaddr from "ipaddr.js"

const { IPv6 } = ipaddr

/** Maximum number of failures within a window, which starts with the first of them. */
export interface Limit {
  readonly failures: number
  readonly window: Duration.Duration
}

/** A counter of failures, such as that of an account and a network. */
export interface Key {
  readonly limit: Limit
  /** Unique over all limits. */
  readonly value: string
}

/** Client authentication. Only failures are counted, and a correct secret is never refused. */
const clientLimit: Limit = { failures: 30, window: Duration.minutes(1) }
const clientNetworkLimit: Limit = { failures: 300, window: Duration.minutes(1) }

/** The keys for a failed authentication of a client: that client from that network, and the network. */
export const clientKeys = (clientId: number, address: string): ReadonlyArray<Key> => [
  { limit: clientLimit, value: `client:${clientId}@${networkOf(address)}` },
  { limit: clientNetworkLimit, value: `clients@${networkOf(address)}` }
]

/** Refused revocations. Only their audit entries are limited, since anybody can cause them. */
const refusedRevocationLimit: Limit = { failures: 30, window: Duration.minutes(1) }

/** The keys for the audit of refused revocations: the network. */
export const refusedRevocationKeys = (address: string): ReadonlyArray<Key> => [
  { limit: refusedRevocationLimit, value: `revocations@${networkOf(address)}` }
]

/** Limits on wrong passwords. Anybody can reach the limit of an account, so its window is short. */
export interface LoginLimits {
  /** For an account from one network, or from a browser that has signed in to it before. */
  readonly perAccountAndNetwork: Limit
  readonly perNetwork: Limit
  readonly perAccount: Limit
}

/** The limits on logins. Default: 10 and 100 failures in 5 minutes, and 30 in 15 minutes. */
export class LoginLimit extends Context.Reference<LoginLimit>()("@startlist/http/LoginLimit", {
  defaultValue: (): LoginLimits => ({
    perAccountAndNetwork: { failures: 10, window: Duration.minutes(5) },
    perNetwork: { failures: 100, window: Duration.minutes(5) },
    perAccount: { failures: 30, window: Duration.minutes(15) }
  })
}) {}

/** Maximum length of an e-mail address (RFC 5321 §4.5.3.1). Longer input shares one counter, to save memory. */
const accountOf = (email: string): string => email.length > 320 ? "nobody" : email.toLowerCase()

/** The keys for a login from an unknown browser: that account from that network, the network, and the account. */
export const loginKeys = (limits: LoginLimits, email: string, address: string): ReadonlyArray<Key> => [
  { limit: limits.perAccountAndNetwork, value: `login:${accountOf(email)}@${networkOf(address)}` },
  { limit: limits.perNetwork, value: `logins@${networkOf(address)}` },
  { limit: limits.perAccount, value: `login:${accountOf(email)}` }
]

/**
 * The key for a login from a browser that has signed in to this account before. Guesses from elsewhere do not count.
 */
export const browserKeys = (limits: LoginLimits, email: string, browser: string): ReadonlyArray<Key> => [
  { limit: limits.perAccountAndNetwork, value: `login:${accountOf(email)}#${browser}` }
]

/** Requests with a wrong operator token. The right token is never refused because of them. */
const operatorLimit: Limit = { failures: 30, window: Duration.minutes(1) }

/** The key for a wrong operator token: its network, for all endpoints together. */
export const operatorKeys = (address: string): ReadonlyArray<Key> => [
  { limit: operatorLimit, value: `operator@${networkOf(address)}` }
]

/** The network of one customer: an IPv4 address, or the /64 of an IPv6 address, since one person has a whole /64. */
export const networkOf = (address: string): string => {
  if (!address.includes(":") || !IPv6.isValid(address)) return address
  const parsed = IPv6.parse(address)
  return parsed.isIPv4MappedAddress()
    ? parsed.toIPv4Address().toString()
    : parsed.parts.slice(0, 4).map((part) => part.toString(16)).join(":")
}

/** Counts attempts. Nodes may share the counters. They may be lost at a restart. */
export class Throttle extends Context.Tag("@startlist/http/Throttle")<Throttle, Throttle.Service>() {}

export declare namespace Throttle {
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
