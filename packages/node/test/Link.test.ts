/** Questions between processes, and one page from the metrics of several. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { EventEmitter } from "node:events"
import * as Link from "../src/processes/Link.ts"
import { merge } from "../src/telemetry/Prometheus.ts"

/** Two ends that send each other JSON, as Node's channel does. */
const ends = () => {
  const [one, other] = [new EventEmitter(), new EventEmitter()]
  const end = (own: EventEmitter, peer: EventEmitter): Link.End => ({
    send: (message) => queueMicrotask(() => peer.emit("message", JSON.parse(JSON.stringify(message)))),
    on: (onMessage) => own.on("message", onMessage)
  })
  return [end(one, other), end(other, one)] as const
}

const none = () => Effect.never

describe("a channel", () => {
  it.live("gives each question its own answer, in any order; null is an answer", () =>
    Effect.gen(function*() {
      const [one, other] = ends()
      Link.open(one, (question) => Effect.delay(Effect.succeed(question), question === "a" ? 20 : 0), () => {})
      const { ask } = Link.open(other, none, () => {})
      const asked = ["a", "b", null].map((question) => ask(question, 5000))
      expect(yield* Effect.all(asked, { concurrency: "unbounded" })).toEqual(["a", "b", null])
    }))

  it.live("a question that cannot be answered fails immediately, and one without an answer after its timeout", () =>
    Effect.gen(function*() {
      const [one, other] = ends()
      Link.open(one, (question) => question === "never" ? Effect.never : Effect.fail("refused"), () => {})
      const { ask } = Link.open(other, none, () => {})
      expect((yield* Effect.flip(ask("wrong", 60_000)))._tag).toBe("@startlist/node/NoAnswer")
      expect((yield* Effect.flip(ask("never", 10)))._tag).toBe("@startlist/node/NoAnswer")
    }))

  it.live("a question without an answer also fails after its timeout where it cannot be interrupted", () =>
    Effect.gen(function*() {
      const [, other] = ends()
      const { ask } = Link.open(other, none, () => {})
      const failed = yield* Effect.timeoutOption(
        Effect.disconnect(Effect.uninterruptible(Effect.flip(ask("never", 10)))),
        "2 seconds"
      )
      expect(Option.map(failed, ({ _tag }) => _tag)).toEqual(Option.some("@startlist/node/NoAnswer"))
    }))

  it.live("passes on messages that need no answer, and messages of a later version", () =>
    Effect.gen(function*() {
      const [one, other] = ends()
      const told: Array<unknown> = []
      Link.open(one, none, (message) => told.push(message))
      Link.open(other, none, () => {}).tell({ _tag: "Later" })
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      expect(told).toEqual([{ _tag: "Later" }])
    }))
})

describe("the page of several processes", () => {
  it("has each family once, and each sample with the name of its process", () => {
    const counter = (samples: string) => `# HELP a_total How often\n# TYPE a_total counter\n${samples}\n`
    const page = merge([
      { process: "1", body: counter("a_total{route=\"/x/{id}\"} 1") },
      { process: "2", body: `# HELP b b\n# TYPE b gauge\nb NaN\n\n${counter("a_total 2")}` }
    ])
    expect(page.split("\n").filter((line) => line !== "")).toEqual([
      "# HELP a_total How often",
      "# TYPE a_total counter",
      "a_total{process=\"1\",route=\"/x/{id}\"} 1",
      "a_total{process=\"2\"} 2",
      "# HELP b b",
      "# TYPE b gauge",
      "b{process=\"2\"} NaN"
    ])
  })

  it("of none is empty", () => {
    expect(merge([])).toBe("")
  })
})
