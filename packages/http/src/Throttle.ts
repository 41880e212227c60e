/** The brake on guessing: how often someone may fail before being told to wait. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

/** So many failures within this time, then no more until it is over. */
export interface Limit {
  readonly failures: number
  readonly window: Duration.Duration
}

/** What failures are counted by, e.g. an account name seen from one address. */
export interface Key {
  readonly limit: Limit
  readonly value: string
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
