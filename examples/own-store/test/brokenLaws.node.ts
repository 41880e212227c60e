/** The laws with `node:test`, over the stores that have a bug. */
import { after, test } from "node:test"
import { StoreLaws } from "@startlist/testing"
import * as SubtleBug from "../src/SubtleBug.ts"

const { close, tests } = StoreLaws.suite(
  "stores with a bug",
  SubtleBug.layerWith({ filename: ":memory:", key: new Uint8Array(32).fill(7) })
)

// `laws.node.ts` runs all laws over the stores without the bug.
const aboutSubscriptions = tests.filter(({ name }) => name.includes("calls of subscriptions"))
for (const { name, run } of aboutSubscriptions) void test(name, () => run())
after(close)
