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
import * as Suite from "./Suite.ts"

/** All laws of the stores, in groups. Each is an Effect. */
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

/** The laws as tests of these stores. Real time. */
export const suite = <E>(name: string, stores: Layer.Layer<Stores, E>): Suite.Suite => Suite.make(name, stores, laws)
