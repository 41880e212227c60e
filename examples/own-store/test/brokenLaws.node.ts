/** The laws with `node:test`, over the stores that have a bug. */
import { after, test } from "node:test"
import { StoreLaws } from "@startlist/testing"
import * as SubtleBug from "../src/SubtleBug.ts"

const stores = SubtleBug.layerWith({ filename: ":memory:", key: new Uint8Array(32).fill(7) })
const { close, tests } = StoreLaws.suite("stores with one word less", stores)

for (const { name, run } of tests) void test(name, () => run())
after(close)
