/** The laws of the queue without a test runner, over the stores that have a bug. */
import { StoreLaws, Suite } from "@startlist/testing"
import * as SubtleBug from "../src/SubtleBug.ts"

const stores = SubtleBug.layerWith({ filename: ":memory:", key: new Uint8Array(32).fill(7) })
const groups = (about: string) => about === "the queue"
const { failed } = await Suite.run(StoreLaws.suite("stores with one word less", stores, { groups }))

for (const { error } of failed) console.error(error)
process.exitCode = failed.length === 0 ? 0 : 1
