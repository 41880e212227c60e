/**
 * `npm run faults [-- WORD]`: plants each fault in copies of the stores in memory, and on PostgreSQL if there is one, and
 * prints which law of the stores notices it first.
 */
import { Memory } from "@startlist/core"
import type { Stores } from "@startlist/core/Stores"
import { Context, Effect, Layer, Option } from "effect"
import { StoreLaws, type Suite } from "../../src/index.ts"
import { type StoreFault, storeFaults } from "../storeFaults.ts"

/** The law that fails first; none if all hold. */
const firstBroken = async ({ close, tests }: Suite.Suite): Promise<Option.Option<string>> => {
  try {
    for (const { name, run } of tests) {
      const isBroken = await run().then(() => false, () => true)
      if (isBroken) return Option.some(name)
    }
    return Option.none()
  } finally {
    await close()
  }
}

class Storage extends Context.Tag("Storage")<Storage, Context.Context<Stores>>() {}

/** Two handles over one storage in memory, each with the fault. */
const inMemory = ({ name, plant }: StoreFault): Suite.Suite => {
  const handle = Layer.effectContext(Effect.map(Storage, plant))
  const storage = Layer.effect(Storage, Effect.context<Stores>()).pipe(Layer.provide(Memory.layer))
  return StoreLaws.suite(name, Layer.provideMerge(handle, storage), { reopen: handle })
}

const [word = "", times = "1"] = process.argv.slice(2)
let missed = 0
for (const fault of storeFaults) {
  if (!fault.name.includes(word) && fault.kind !== word) continue
  for (let time = 0; time < Number(times); time++) {
    const began = performance.now()
    const law = await firstBroken(inMemory(fault))
    if (Option.isNone(law)) missed++
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(`| ${fault.kind} | ${fault.name} | ${Option.getOrElse(law, () => "NOT NOTICED")} | ${seconds} s |`)
  }
}
console.log(`${missed} not noticed`)
process.exit(missed === 0 ? 0 : 1)
