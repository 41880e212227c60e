#!/usr/bin/env node
/** The entry of the program. Loads the rest only if Node is new enough: an older one would fail with a stack trace. */
import { createRequire } from "node:module"

const { engines }: { readonly engines: { readonly node: string } } = createRequire(import.meta.url)(
  "@startlist/node/package.json"
)

const [running = 0, minor = 0] = process.versions.node.split(".").map(Number)
const [needed = 0, neededMinor = 0] = engines.node.replace(">=", "").split(".").map(Number)

if (running < needed || (running === needed && minor < neededMinor)) {
  process.stderr.write(
    `startlist: needs Node ${needed}.${neededMinor} or later, and runs on ${process.versions.node}. Install a newer Node.\n`
  )
  process.exitCode = 1
} else {
  await import("./Program.ts")
}
