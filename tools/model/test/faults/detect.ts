/** Plants faults in stores, and finds them by laws, programs and the simulation. */
import { Memory } from "@startlist/core"
import type { Stores } from "@startlist/core/Services"
import { StoreLaws, type Suite } from "@startlist/testing"
import { Context, Effect, FastCheck, identity, Layer, Logger, LogLevel } from "effect"
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

/** What a law has cost so far, in milliseconds, and the number of faults that it found. */
const known = new Map<string, { readonly millis: number; readonly found: number }>()

/** Laws that find much for little come first. */
const priceOf = ({ name }: Suite.Test): number => {
  const { found, millis } = known.get(name) ?? { millis: 0, found: 0 }
  return millis / (1 + found)
}

/** A law that the stores break. Undefined if all hold. */
export const firstBroken = async (fault: Fault<Change>, storage: Layer.Layer<Storage>): Promise<string | undefined> => {
  const { close, tests } = suiteOf(fault, storage)
  // All of them twice: random programs show some faults in one run, and not in another.
  // The laws of keys that resemble each other need the first keys of a storage.
  const ordered = fault.kind === "key" ? tests : [...tests].sort((one, other) => priceOf(one) - priceOf(other))
  try {
    for (const { name, run } of [...ordered, ...ordered]) {
      const began = performance.now()
      const isBroken = await run().then(() => false, () => true)
      const { found, millis } = known.get(name) ?? { millis: 0, found: 0 }
      known.set(name, { millis: millis + performance.now() - began, found: found + (isBroken ? 1 : 0) })
      if (isBroken) return name
      // Stores in memory need no turn of the event loop, but the test runner does.
      await new Promise(setImmediate)
    }
    return undefined
  } finally {
    await close()
  }
}

/** Whether a fault breaks no promise of these stores: one of the two hints of each event on PostgreSQL may be lost. */
export const isHarmless = ({ name }: Fault, storage: "memory" | "PostgreSQL"): boolean =>
  storage === "PostgreSQL" && name.startsWith("each wake-up reaches every other listener")

/** The stores in memory with a fault. */
const stores = ({ plant }: Fault<Change>): Layer.Layer<Stores> =>
  Layer.effectContext(Effect.map(Effect.context<Stores>(), plant)).pipe(Layer.provide(Memory.layer))

/** Runs a program on faulty stores. Fails if it shows the fault. */
const check = (fault: Fault<Change>, program: Operation.Program, seed: number): Promise<void> =>
  Effect.runPromise(
    Program.check(program, { seed }).pipe(Effect.provide(stores(fault)), Logger.withMinimumLogLevel(LogLevel.None))
  )

/** What a program breaks with a fault and without it, in the first of 20 interleavings that shows the fault. */
export const byProgram = async (fault: Fault<Change>, program: Operation.Program) => {
  const good = { ...fault, plant: identity<Context.Context<Stores>> }
  for (let seed = 0; seed < 20; seed++) {
    const broken = await check(fault, program, seed).then(() => undefined, String)
    if (broken !== undefined) return { broken, without: await check(good, program, seed).then(() => undefined, String) }
  }
  return {}
}

const runs = FastCheck.record({ program: Operation.program(), seed: FastCheck.nat() })

/** Number of operations, those of parallel groups included. */
const sizeOf = (program: Operation.Program): number =>
  program.reduce((sum, operation) => sum + (operation._tag === "Parallel" ? operation.operations.length : 1), 0)

/** Runs random programs until one shows the fault, and shrinks it. */
export const byPrograms = async (fault: Fault<Change>, numRuns: number) => {
  const property = FastCheck.asyncProperty(runs, ({ program, seed }) => check(fault, program, seed))
  const { counterexample, errorInstance } = await FastCheck.check(property, { seed: 6, numRuns })
  const program = counterexample?.[0].program ?? []
  return { operations: sizeOf(program), error: String(errorInstance), report: JSON.stringify(counterexample) }
}

/** Large enough for faults to show, small enough for many seeds. */
export const size = { hours: 0.05, pace: 600 }

/** The simulation of a system with the fault. */
export const simulated = (fault: Fault<Change>) => ({ ...size, stores: stores(fault) })
