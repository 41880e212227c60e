/**
 * The laws of stores on any database. The suite is a function of a layer.
 *
 * ```ts
 * describeSuite(StoreLaws.suite("my database", MyStores.layer)) // of @startlist/testing/vitest
 * ```
 *
 * Each law makes its own users and applications. The suite can share a database with other suites that run before or
 * after it, in any order. The laws of the queue end deliveries that others left pending.
 */
import type { Stores } from "@startlist/core/Services"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { atomicityLaws } from "./internal/atomicityLaws.ts"
import { erasureLaws } from "./internal/erasureLaws.ts"
import { handleLaws, reopeningLaws } from "./internal/handleLaws.ts"
import { keyLaws } from "./internal/keyLaws.ts"
import { parallelLaws } from "./internal/parallelLaws.ts"
import { queueLaws } from "./internal/queueLaws.ts"
import { racesOf } from "./internal/raceLaws.ts"
import { recordLaws } from "./internal/recordLaws.ts"
import { redeliveryLaws } from "./internal/redeliveryLaws.ts"
import { alone, type WithHandles } from "./internal/stage.ts"
import { storePrograms } from "./internal/storePrograms.ts"
import * as Suite from "./Suite.ts"

const others: ReadonlyArray<Suite.LawGroup<Stores>> = [
  recordLaws,
  parallelLaws,
  queueLaws,
  redeliveryLaws,
  erasureLaws,
  atomicityLaws
]

const withOne: WithHandles<Stores> = (use) => Effect.flatMap(alone, use)

/** All laws of the stores, in groups. Each is an Effect. */
export const laws: ReadonlyArray<Suite.LawGroup<Stores>> = [
  keyLaws,
  storePrograms(withOne),
  ...others,
  ...racesOf(withOne)
]

export interface Options<R> extends Suite.Options {
  /**
   * Opens the same storage once more, each time that it is built. It may need whatever the layer of the stores gives
   * beside the stores. It adds the laws of two handles over one storage, which race, and of closing and opening.
   */
  readonly reopen?: Layer.Layer<Stores, unknown, R>
  /** Whether only one handle may be open. Then `reopen` opens another storage than the layer. Default: no. */
  readonly isExclusive?: boolean
  /** The groups of laws that run, by what they are about. Default: all. */
  readonly groups?: (about: string) => boolean
}

/** The laws as tests of these stores. Real time. */
export const suite = <E, R = never>(
  name: string,
  stores: Layer.Layer<Stores | R, E>,
  { groups = () => true, isExclusive = false, reopen, ...options }: Options<R> = {}
): Suite.Suite =>
  Suite.make<Stores | R, E>(name, stores, lawsOf(isExclusive, reopen).filter(({ about }) => groups(about)), options)

const lawsOf = <R>(isExclusive: boolean, reopen: Options<R>["reopen"]): ReadonlyArray<Suite.LawGroup<Stores | R>> => {
  if (reopen === undefined) return laws
  const open = Layer.build(Layer.fresh(reopen))
  return isExclusive ? [...laws, reopeningLaws(open)] : [keyLaws, ...handleLaws(open), ...others]
}
