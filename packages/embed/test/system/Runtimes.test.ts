/**
 * The loop where there is no Node: one bundle without any module of Node, in Deno, Bun and an isolate of workerd. The
 * runtimes are downloaded as npm packages.
 */
import { Effect, Layer } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as EmbeddedServer from "@startlist/test-support/EmbeddedServer"
import * as Loop from "@startlist/test-support/Loop"
import { type Runtime, start } from "./runtimes/Runtime.ts"

const runtimes: ReadonlyArray<Runtime> = [
  { name: "deno", entry: "deno", platform: "browser", args: ["run", "--allow-net", "deno.js"] },
  { name: "bun", entry: "bun", platform: "browser", args: ["bun.js"] },
  {
    name: "workerd",
    entry: "worker",
    platform: "browser",
    args: ["serve", "workerd.capnp", "--control-fd=3"],
    files: ["workerd.capnp"]
  }
]

for (const runtime of runtimes) Loop.suite(`the loop in ${runtime.name}`, EmbeddedServer.layer(() => start(runtime)))
