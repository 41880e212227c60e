/** The record of requests: the application, the path, and which applications have their own series. */
import { describe, expect, it } from "@effect/vitest"
import { ApplicationId } from "@startlist/core/Application"
import { Effect, Fiber, Logger, LogLevel, Metric } from "effect"
import { identified, makeLabels, shownPath } from "../src/telemetry/Requests.ts"

/** The value of a counter of requests with these labels. */
const countOf = (name: string, ...labels: ReadonlyArray<string>): unknown => {
  const pair = Metric.unsafeSnapshot().find(({ metricKey }) =>
    metricKey.name === name && labels.every((label) => metricKey.tags.some(({ value }) => value === label))
  )
  return pair !== undefined && "count" in pair.metricState ? pair.metricState.count : undefined
}

describe("the record of a request that was answered at its time limit", () => {
  it.effect("has the application that has proven to send it, as one that was answered in time", () =>
    Effect.gen(function*() {
      const lines: Array<unknown> = []
      const { handler, late } = identified(
        (request) => Effect.zipRight(Effect.sync(() => request.onApplication?.(ApplicationId.make(7))), Effect.never),
        () => "/oauth/token",
        {},
        { logLevel: LogLevel.Info, logRequests: true }
      )
      const head = { method: "POST", path: "/oauth/token", query: "", headers: { "x-request-id": "one" } }
      const request = { ...head, body: new Uint8Array(), address: "192.0.2.1" }
      const running = yield* Effect.fork(handler(request))
      yield* Effect.yieldNow()
      const logger = Logger.make(({ annotations }) => void lines.push(Object.fromEntries(annotations)))
      yield* Effect.provide(
        late(request, { status: 503, headers: {}, body: "" }, 20),
        Logger.replace(Logger.defaultLogger, logger)
      )
      yield* Fiber.interrupt(running)
      expect(countOf("startlist_application_requests_total", "7", "503")).toBe(1)
      expect(lines).toMatchObject([{ client_id: 7, request_id: "one", status: 503 }])
    }))
})

describe("the path of a request in logs, traces and the audit", () => {
  it("is unchanged if it could be one of our paths", () => {
    for (
      const path of [
        "/",
        "/oauth/token",
        "/developer/applications/12/deliveries/345",
        "/assets/pages.5ae086eb3135b4a1.css"
      ]
    ) {
      expect(shownPath(path)).toBe(path)
    }
  })

  it("contains no parameters that were sent in it by mistake, and no token", () => {
    expect(shownPath("/login&code=sl_ac_secret")).toBe("/login…")
    expect(shownPath("/oauth/token%3Fclient_secret=secret")).toBe("/oauth/token…")
    expect(shownPath(`/api/v1/athlete/sl_at_${"x".repeat(43)}/more`)).toBe("/api/v1/athlete/…/more")
  })

  it("contains no part of an e-mail address", () => {
    for (
      const address of [
        "ada.lovelace@example.org",
        "ada%40example.org",
        "ada%2Bx%40example.org",
        "ada+x@example.org/export"
      ]
    ) {
      expect(shownPath(`/operator/v1/users/${address}`)).toBe("/operator/v1/users/…")
    }
  })
})

describe("the series of applications", () => {
  /** Labels of applications on a clock of the test, and how many of them have their own. */
  const make = () => {
    let now = 0
    const own = new Set<string>()
    const labelOf = makeLabels(() => now)
    return {
      own,
      wait: (millis: number) => {
        now += millis
      },
      /** Sends requests. Returns the label of the last one. */
      send: (id: number, count = 1): string => {
        let label = ""
        for (let i = 0; i < count; i++) label = labelOf(id)
        if (label !== "other") own.add(label)
        return label
      }
    }
  }

  it("each of a few applications has its own series soon, and keeps it", () => {
    const { send, wait } = make()
    expect(send(1)).toBe("1")
    expect([1, 2, 3, 4, 5].map((id) => send(id, 6))).toEqual(["1", "2", "3", "4", "5"])
    wait(86_400_000)
    expect([5, 4, 3, 2, 1].map((id) => send(id))).toEqual(["5", "4", "3", "2", "1"])
  })

  it("of many applications, one that becomes busy still gets its own series", () => {
    const { own, send, wait } = make()
    for (let minute = 0; minute < 60; minute++) {
      for (let id = 1; id <= 100; id++) send(id, 20)
      wait(60_000)
    }
    expect(own.size).toBe(8)
    expect(send(999, 500)).toBe("999")
  })

  it("at most twenty applications have their own series", () => {
    const { own, send } = make()
    for (let id = 1; id <= 50; id++) send(id, 3000)
    expect([own.size, send(50)]).toEqual([20, "other"])
  })
})
