/**
 * What every store must do, whatever it is made of: one suite, a function of a layer.
 *
 * ```ts
 * StoreLaws.suite("my database", MyStores.layer)
 * ```
 *
 * Each law makes its own users and applications, so the suite can run on a database that is in use by other suites
 * before or after it, in any order. The laws of the queue end deliveries that others left pending.
 */
import { layer as describeLayer } from "@effect/vitest"
import type { Stores } from "@startlist/core/Stores"
import type * as Duration from "effect/Duration"
import type * as Layer from "effect/Layer"
import { atomicityLaws } from "./internal/atomicityLaws.ts"
import { claimLaws } from "./internal/claimLaws.ts"
import { deliveryLaws } from "./internal/deliveryLaws.ts"
import { grantFindLaws } from "./internal/grantFindLaws.ts"
import { grantLaws } from "./internal/grantLaws.ts"
import { outboxLaws } from "./internal/outboxLaws.ts"
import { recordLaws } from "./internal/recordLaws.ts"
import { registrationLaws } from "./internal/registrationLaws.ts"
import { settleLaws } from "./internal/settleLaws.ts"
import { subscriptionLaws } from "./internal/subscriptionLaws.ts"
import type { LawGroup } from "./Law.ts"

/** All laws of the stores, in groups. Each is an Effect, for use without vitest. */
export const laws: ReadonlyArray<LawGroup<Stores>> = [
  ...recordLaws,
  registrationLaws,
  ...grantLaws,
  grantFindLaws,
  subscriptionLaws,
  outboxLaws,
  atomicityLaws,
  ...claimLaws,
  settleLaws,
  ...deliveryLaws
]

export interface Options {
  /** For building the layer, and for each law. Default: what vitest has. */
  readonly timeout?: Duration.DurationInput
}

/** Declares the laws as tests of these stores: a `describe` of vitest with one test for each. Real time. */
export const suite = <E>(name: string, stores: Layer.Layer<Stores, E>, options: Options = {}): void =>
  describeLayer(stores, { ...options, excludeTestServices: true })(name, (it) => {
    for (const { about, laws: group } of laws) {
      for (const { check, name } of group) it.effect(`${about}: ${name}`, () => check)
    }
  })
