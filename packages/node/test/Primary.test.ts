/** The first process of a node of several. `system/Processes.test.ts` has the whole. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Primary from "../src/processes/Primary.ts"
import * as Configuration from "../src/settings/Configuration.ts"

it.scopedLive("a process that the system cannot start is the reason why the node does not", () =>
  Effect.gen(function*() {
    const configuration = yield* Configuration.decode({
      DATABASE_URL: "postgres://me@127.0.0.1:1/none",
      OPERATOR_TOKEN: "the-operator-token-of-all-the-nodes",
      MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
      PROCESSES: "2"
    }, false)
    const { execPath } = process
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        process.execPath = "/nonexistent/node"
      }),
      () =>
        Effect.sync(() => {
          process.execPath = execPath
        })
    )
    const { message } = yield* Effect.flip(Primary.run(configuration))
    expect(message).toBe("a process cannot be started: spawn /nonexistent/node ENOENT")
  }))
