/** Plants faults in stores, and finds them by laws, programs and the simulation. */
import { Memory } from "@startlist/core"
import type { Stores } from "@startlist/core/Stores"
import { StoreLaws, type Suite } from "@startlist/testing"
import { Context, Effect, FastCheck, Layer, Logger, LogLevel } from "effect"
import * as Operation from "../../src/Operation.ts"
import * as Program from "../../src/Program.ts"
import type { Change, Fault } from "./Fault.ts"

/** Opens good stores over one storage. */
export class Storage extends Context.Tag("Storage")<Storage, Layer.Layer<Stores>>() {}

/** Storage in memory has one handle, which is shared. */
export const inMemory: Layer.Layer<Storage> = Layer.effect(
  Storage,
  Effect.map(Effect.context<Stores>(), Layer.succeedContext)
).pipe(Layer.provide(Memory.layer))

/** The laws for two handles over one storage, each with the fault. */
const suiteOf = ({ name, plant }: Fault<Change>, storage: Layer.Layer<Storage>): Suite.Suite => {
  const planted = Layer.effectContext(Effect.map(Effect.context<Stores>(), plant))
  const handle = Layer.unwrapEffect(Effect.map(Storage, (stores) => Layer.provide(planted, Layer.fresh(stores))))
  return StoreLaws.suite(name, Layer.provideMerge(handle, storage), { reopen: handle, shrinks: false })
}

/** The first law that the stores break. Undefined if all hold. */
export const firstBroken = async (fault: Fault<Change>, storage: Layer.Layer<Storage>): Promise<string | undefined> => {
  const { close, tests } = suiteOf(fault, storage)
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

/**
 * Whether a fault breaks no promise of these stores: a lock of the process works in memory, and one of the two hints that a
 * listener gets of each event on PostgreSQL may be lost.
 */
export const isHarmless = ({ name }: Fault, storage: "memory" | "PostgreSQL"): boolean =>
  name.startsWith(storage === "memory" ? "a lock of the process" : "each wake-up reaches every other listener")

/** The stores in memory with a fault. */
const stores = ({ plant }: Fault<Change>): Layer.Layer<Stores> =>
  Layer.effectContext(Effect.map(Effect.context<Stores>(), plant)).pipe(Layer.provide(Memory.layer))

const runs = FastCheck.record({ program: Operation.program(), seed: FastCheck.nat() })

/** Number of operations, those of parallel groups included. */
const sizeOf = (program: Operation.Program): number =>
  program.reduce((sum, operation) => sum + (operation._tag === "Parallel" ? operation.operations.length : 1), 0)

/** Runs programs until one shows the fault: the one at a path, or any. */
export const byPrograms = async (
  fault: Fault<Change>,
  options: { readonly path: string } | { readonly numRuns: number }
) => {
  const property = FastCheck.asyncProperty(runs, ({ program, seed }) =>
    Effect.runPromise(
      Program.check(program, { seed }).pipe(Effect.provide(stores(fault)), Logger.withMinimumLogLevel(LogLevel.None))
    ))
  const { counterexample, counterexamplePath, errorInstance } = await FastCheck.check(property, { seed: 6, ...options })
  const program = counterexample?.[0].program ?? []
  const report = `path ${counterexamplePath}: ${JSON.stringify(counterexample)}`
  return { operations: sizeOf(program), error: String(errorInstance), report }
}

/** Large enough for faults to show, small enough for many seeds. */
export const size = { hours: 0.05, pace: 600 }

/** The simulation of a system with the fault. */
export const simulated = (fault: Fault<Change>) => ({ ...size, stores: stores(fault) })
