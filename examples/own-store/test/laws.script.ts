/** The laws without a test runner, also those of closing and opening. */
import { StoreLaws, Suite } from "@startlist/testing"
import { Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as OwnStores from "../src/OwnStores.ts"

const key = new Uint8Array(32).fill(7)
const folder = mkdtempSync(join(tmpdir(), "own-store-"))
const stores = OwnStores.layerWith({ filename: ":memory:", key })
const reopen = Layer.orDie(OwnStores.layerWith({ filename: join(folder, "startlist.db"), key }))

const suite = StoreLaws.suite("stores on SQLite", stores, { reopen, isExclusive: true })
const { failed, programs } = await Suite.run(suite)

for (const { error } of failed) console.error(error)
console.log(`${suite.tests.length - failed.length} of ${suite.tests.length} laws hold, ${programs} random programs ran`)
rmSync(folder, { recursive: true })
process.exitCode = failed.length === 0 ? 0 : 1
