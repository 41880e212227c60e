/** The log: the reason of a failure in one line, in both formats; a bug with its stack. */
import { describe, expect, it, vi } from "@effect/vitest"
import { Cause, Console, Effect, LogLevel } from "effect"
import { Store } from "@startlist/core"
import * as Log from "../src/telemetry/Log.ts"

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
      const logging = Effect.logError("a request failed because of a bug", Cause.die(new Error("never")))
      const [line = ""] = yield* lines("json", logging)
      expect(JSON.parse(line)).toMatchObject({
        message: "a request failed because of a bug",
        cause: expect.stringMatching(/never[\s\S]*Log\.test\.ts/)
      })
    }))

  it("writes a repeated line ten times, and then the number of further ones; other lines are written", () => {
    vi.useFakeTimers()
    try {
      const logAll = Effect.gen(function*() {
        for (let i = 0; i < 57; i++) {
          yield* Effect.annotateLogs(Effect.logError("/oauth/token: the store is unavailable", away), "request_id", i)
          yield* Effect.logInfo("a line of its own")
        }
        for (let user = 0; user < 20; user++) {
          yield* Effect.annotateLogs(Effect.logError("an audit entry could not be stored", away), { user })
        }
        vi.advanceTimersByTime(10_000)
      })
      const written = Effect.runSync(lines("json", logAll)).map((line) => JSON.parse(line))
      const count = (text: string) => written.filter(({ message }) => message.startsWith(text)).length
      expect([count("a line"), count("an audit")]).toEqual([57, 20])
      expect(count("/oauth/token")).toBe(11)
      expect(written.at(-1)).toMatchObject({
        logLevel: "ERROR",
        message:
          "/oauth/token: the store is unavailable: connect ECONNREFUSED 127.0.0.1:5432 (47 more of these lines in 10 s)",
        annotations: {}
      })
    } finally {
      vi.useRealTimers()
    }
  })
})
