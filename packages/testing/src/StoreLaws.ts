/**
 * What every store must do, whatever it is made of: one suite, a function of a layer.
 *
 * ```ts
 * describeSuite(StoreLaws.suite("my database", MyStores.layer)) // of @startlist/testing/vitest
 * ```
 *
 * Each law makes its own users and applications, so the suite can run on a database that is in use by other suites
 * before or after it, in any order. The laws of the queue end deliveries that others left pending.
 */
import type { Stores } from "@startlist/core/Stores"
import * as Layer from "effect/Layer"
import { claimLaws } from "./internal/claimLaws.ts"
import { deliveryLaws } from "./internal/deliveryLaws.ts"
import { eventLogLaws } from "./internal/eventLogLaws.ts"
import { outboxLaws } from "./internal/outboxLaws.ts"
import { handleLaws } from "./internal/handleLaws.ts"
import { keyLaws } from "./internal/keyLaws.ts"
import { meetingLaws } from "./internal/meetingLaws.ts"
import { recordLaws } from "./internal/recordLaws.ts"
import { settleLaws } from "./internal/settleLaws.ts"
import { standingLaws } from "./internal/standingLaws.ts"
import { subscriptionLaws } from "./internal/subscriptionLaws.ts"
import type { LawGroup } from "./Law.ts"
import * as Suite from "./Suite.ts"

/** All laws of the stores, in groups. Each is an Effect. */
export const laws: ReadonlyArray<LawGroup<Stores>> = [
  keyLaws,
  ...recordLaws,
  subscriptionLaws,
  outboxLaws,
  ...claimLaws,
  settleLaws,
  ...deliveryLaws,
  ...standingLaws,
  eventLogLaws,
  ...meetingLaws
]

export interface Options<R> {
  /**
   * Opens the same storage once more, each time that it is built, with what the layer of the stores gives beside the
   * stores. With it, two handles over one storage are tested, and closing and opening.
   */
  readonly reopen?: Layer.Layer<Stores, unknown, R>
  /** Only one may have the storage open. Then `reopen` opens another storage than the layer. Default: no. */
  readonly isExclusive?: boolean
}

/** The laws as tests of these stores. Real time. */
export const suite = <E, R = never>(
  name: string,
  stores: Layer.Layer<Stores | R, E>,
  { isExclusive = false, reopen }: Options<R> = {}
): Suite.Suite => {
  if (reopen === undefined) return Suite.make<Stores | R, E>(name, stores, laws)
  const open = Layer.build(Layer.fresh(reopen))
  return Suite.make<Stores | R, E>(name, stores, [...laws, ...handleLaws(open, isExclusive)])
}
