/** The laws with `node:test`: `node --import tsx --test test/laws.node.ts`. */
import { after, test } from "node:test"
import { StoreLaws } from "@startlist/testing"
import * as OwnStores from "../src/OwnStores.ts"

const stores = OwnStores.layerWith({ filename: ":memory:", key: new Uint8Array(32).fill(7) })
const { close, tests } = StoreLaws.suite("stores on SQLite", stores)

for (const { name, run } of tests) void test(name, () => run())
after(close)
