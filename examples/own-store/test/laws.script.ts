/** The laws without a test runner. With an argument, of the store that has a bug. */
import { StoreLaws, Suite } from "@startlist/testing"
import * as OwnStores from "../src/OwnStores.ts"
import * as SubtleBug from "../src/SubtleBug.ts"

const { layerWith } = process.argv.length > 2 ? SubtleBug : OwnStores
const stores = layerWith({ filename: ":memory:", key: new Uint8Array(32).fill(7) })
const suite = StoreLaws.suite("stores on SQLite", stores)
const failed = await Suite.run(suite)

for (const { error } of failed) console.error(error)
console.log(`${suite.tests.length - failed.length} of ${suite.tests.length} laws hold`)
process.exitCode = failed.length === 0 ? 0 : 1
