/** What stands in the log: the reason of a failure in one line, in both formats; a bug with its stack. */
import { describe, expect, it } from "@effect/vitest"
import { Cause, Console, Effect, LogLevel } from "effect"
import { Store } from "@startlist/core"
import * as Log from "../src/Log.ts"

const refused = new Error("connect ECONNREFUSED 127.0.0.1:5432")
const away = new Store.StoreError({ cause: new Error("a statement failed", { cause: refused }) })

const lines = (logFormat: "json" | "pretty", logging: Effect.Effect<void>) =>
  Effect.gen(function*() {
    const written: Array<string> = []
    const console = yield* Console.consoleWith(Effect.succeed)
    const log = (...parts: ReadonlyArray<unknown>) => void written.push(parts.join(" "))
    yield* logging.pipe(
      Effect.provide(Log.layer({ logFormat, logLevel: LogLevel.Info })),
      Effect.withConsole({ ...console, unsafe: { ...console.unsafe, log } })
    )
    return written
  })

const failures: Readonly<Record<string, Effect.Effect<void>>> = {
  "an error": Effect.logWarning("deliveries wait for the store", away),
  "the cause of a failure": Effect.logWarning("deliveries wait for the store", Cause.fail(away))
}

describe("the log", () => {
  for (const [name, logging] of Object.entries(failures)) {
    it.effect(`says why, of ${name}, in one line`, () =>
      Effect.gen(function*() {
        const line = "deliveries wait for the store: connect ECONNREFUSED 127.0.0.1:5432"
        const json = yield* lines("json", logging)
        expect(json.map((text) => JSON.parse(text))).toMatchObject([{ logLevel: "WARN", message: line }])
        expect(json.join("")).not.toContain("Log.test.ts")
        const pretty = yield* lines("pretty", logging)
        expect(pretty.join("\n")).toContain(line)
        expect(pretty.join("\n")).not.toContain("Log.test.ts")
      }))
  }

  it.effect("keeps the stack of a bug", () =>
    Effect.gen(function*() {
      const logging = Effect.logError("a request died of a bug", Cause.die(new Error("never")))
      const [line = ""] = yield* lines("json", logging)
      expect(JSON.parse(line)).toMatchObject({
        message: "a request died of a bug",
        cause: expect.stringMatching(/never[\s\S]*Log\.test\.ts/)
      })
    }))
})
