import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import type { Database } from "../src/Documents.ts"
import * as Minimal from "../src/Minimal.ts"
import * as Seal from "../src/Seal.ts"

const database: Database = new Map()
const stores = Minimal.layerWith(database, Seal.make(new Uint8Array(32).fill(7)))

describeSuite(StoreLaws.suite("stores of documents", stores))
