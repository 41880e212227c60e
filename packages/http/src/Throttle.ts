/** The brake on guessing: how often someone may fail before being told to wait. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import ipaddr from "ipaddr.js"

const { IPv6 } = ipaddr

/** So many failures within this time, then no more until it is over. */
export interface Limit {
  readonly failures: number
  readonly window: Duration.Duration
}

/** What failures are counted by, e.g. an account seen from one network. */
export interface Key {
  readonly limit: Limit
  /** Unique over all limits. */
  readonly value: string
}

/** Client authentication: a mistyped secret in a deployment must not lock out for long. */
const clientLimit: Limit = { failures: 30, window: Duration.minutes(1) }
const clientNetworkLimit: Limit = { failures: 300, window: Duration.minutes(1) }

/** The keys for the authentication of a client: that client from that network, and the network. */
export const clientKeys = (clientId: number, address: string): ReadonlyArray<Key> => [
  { limit: clientLimit, value: `client:${clientId}@${networkOf(address)}` },
  { limit: clientNetworkLimit, value: `clients@${networkOf(address)}` }
]

/** Logins: passwords can be guessed. The limit per account over all networks is high, as anybody can use it up. */
const loginLimit: Limit = { failures: 10, window: Duration.minutes(5) }
const loginNetworkLimit: Limit = { failures: 100, window: Duration.minutes(5) }
const loginAccountLimit: Limit = { failures: 100, window: Duration.hours(1) }

/** The keys for a login: that account from that network, the network, and the account. */
export const loginKeys = (email: string, address: string): ReadonlyArray<Key> => {
  // What is longer than any address (RFC 5321 §4.5.3.1) is nobody's, and would only fill the memory.
  const account = email.length > 320 ? "nobody" : email.toLowerCase()
  return [
    { limit: loginLimit, value: `login:${account}@${networkOf(address)}` },
    { limit: loginNetworkLimit, value: `logins@${networkOf(address)}` },
    { limit: loginAccountLimit, value: `login:${account}` }
  ]
}

/** One customer's network: an IPv4 address, or the /64 of an IPv6 address, of which a single person has 2^64. */
export const networkOf = (address: string): string => {
  if (!address.includes(":") || !IPv6.isValid(address)) return address
  const parsed = IPv6.parse(address)
  return parsed.isIPv4MappedAddress()
    ? parsed.toIPv4Address().toString()
    : parsed.parts.slice(0, 4).map((part) => part.toString(16)).join(":")
}

/** Counts failures. A service on several nodes may share the counters; one that loses them on a restart is good enough. */
export class Throttle extends Context.Tag("@startlist/http/Throttle")<Throttle, Throttle.Service>() {}

export declare namespace Throttle {
  export interface Service {
    /** How long to wait, if any of these keys has failed too often. On the hot path: answers from memory. */
    readonly blocked: (keys: ReadonlyArray<Key>) => Effect.Effect<Option.Option<Duration.Duration>>
    /** Counts one failure for each key. */
    readonly failed: (keys: ReadonlyArray<Key>) => Effect.Effect<void>
  }
}
