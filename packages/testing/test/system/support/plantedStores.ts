/** Stores with a fault, and the law that notices it. */
import { Memory } from "@startlist/core"
import type { Stores } from "@startlist/core/Stores"
import { Context, Effect, Layer } from "effect"
import { StoreLaws, type Suite } from "../../../src/index.ts"
import type { StoreFault } from "../../storeFaults.ts"

/** Opens good stores over one storage. */
export class Storage extends Context.Tag("Storage")<Storage, Layer.Layer<Stores>>() {}

/** The laws for two handles over one storage, each with the fault. */
export const suiteOf = ({ name, plant }: StoreFault, storage: Layer.Layer<Storage>): Suite.Suite => {
  const planted = Layer.effectContext(Effect.map(Effect.context<Stores>(), plant))
  const handle = Layer.unwrapEffect(
    Effect.map(Storage, (stores) => Layer.provide(planted, Layer.fresh(stores)))
  )
  return StoreLaws.suite(name, Layer.provideMerge(handle, storage), { reopen: handle })
}

/**
 * Whether a fault breaks no promise of these stores: a lock of the process works in memory, and one of the two hints that a
 * listener gets of each event on PostgreSQL may be lost.
 */
export const isHarmless = ({ name }: StoreFault, storage: "memory" | "PostgreSQL"): boolean =>
  name.startsWith(storage === "memory" ? "a lock of the process" : "each wake-up reaches every other listener")

/** Storage in memory has one handle, which is shared. */
export const inMemory: Layer.Layer<Storage> = Layer.effect(
  Storage,
  Effect.map(Effect.context<Stores>(), Layer.succeedContext)
).pipe(Layer.provide(Memory.layer))

/** The first law that fails. Undefined if all hold. */
export const firstBroken = async ({ close, tests }: Suite.Suite): Promise<string | undefined> => {
  try {
    for (const { name, run } of tests) {
      const isBroken = await run().then(() => false, () => true)
      if (isBroken) return name
    }
    return undefined
  } finally {
    await close()
  }
}
