/** All laws over stores whose finds never let the event loop turn, while their saves wait for it. Prints what failed. */
import { Memory } from "@startlist/core"
import { Effect, Layer } from "effect"
import { Faults, StoreLaws, Suite } from "../../../src/index.ts"

const microtask = Effect.promise(async () => {})
const macrotask = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

const stores = Layer.provide(
  Faults.intercepting((operation, effect) =>
    Effect.zipRight(/\.(?:find|list|log)/.test(operation) ? microtask : macrotask, effect)
  ),
  Memory.layer
)
const { failed, programs } = await Suite.run(StoreLaws.suite("finds in microtasks", stores))

const endless = Suite.law("of a store that never answers", () => Effect.forever(microtask))
const unended = await Suite.run(Suite.make("endless", Layer.empty, [{ about: "a law", laws: [endless] }]), {
  timeout: 50
})

console.log(JSON.stringify([programs > 0, ...[...failed, ...unended.failed].map(({ error }) => String(error))]))
