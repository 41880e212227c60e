/** The service stores nothing of completed requests in memory. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { setTimeout } from "node:timers/promises"
import { growth, most, type Point } from "../hostile/support/Growth.ts"
import { makeMeasuredService, type MeasuredService } from "../hostile/support/MeasuredService.ts"
import { converse } from "../hostile/support/Wire.ts"

/** Many kinds of valid, invalid and unfinished requests. The last ones wait behind a slow one. */
const script = (number: number): Buffer => {
  const form = (path: string, body: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.18.0.${number & 63}\r\n` +
    `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const get = (path: string, headers = "") => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
  return Buffer.from([
    form("/oauth/token", "grant_type=refresh_token&client_id=1&client_secret=x&refresh_token=y"),
    get("/healthz"),
    get("/api/v1/athlete", `Authorization: Bearer x${number}\r\n`),
    get(`/nothing/${number}`),
    get("/account/applications", "Cookie: startlist_session=x\r\n"),
    get("/login"),
    form("/oauth/introspect", "token=y"),
    get("/login"),
    get("/login")
  ].join(""))
}

const connections = 96
const requestsPerConnection = 9

/** Clients that disconnect at every possible moment, and some that wait. */
const round = async ({ port }: MeasuredService, from: number): Promise<void> => {
  for (let i = from; i < from + connections; i += 24) {
    await Promise.all(Array.from({ length: 24 }, (_, k) =>
      converse(port, {
        pieces: [script(i + k)],
        cut: k % 3 !== 0,
        ...(k % 3 === 0 ? { silence: 100 } : {})
      })))
  }
}

/**
 * Bytes in use once they are stable: requests may continue after their clients disconnect. A measurement blocks the
 * service's only thread, so it gets time to work between two measurements.
 */
const settled = async ({ measure }: MeasuredService): Promise<number> => {
  let last = (await measure()).heapUsed
  for (;;) {
    await setTimeout(300)
    const now = (await measure()).heapUsed
    if (Math.abs(now - last) < 50_000) return now
    last = now
  }
}

/** Growth in bytes per request. */
const growthOf = async (service: MeasuredService, rounds: number): Promise<number> => {
  const points: Array<Point> = []
  for (let i = 0; i < rounds; i++) {
    await round(service, i * connections)
    const heapUsed = await settled(service)
    points.push({ requests: (i + 1) * connections * requestsPerConnection, heapUsed })
  }
  return growth(points)
}

describe("memory", () => {
  it.scopedLive(
    "does not grow with requests, whether or not their clients wait for the responses",
    () =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService({ LOG_LEVEL: "info" })
        expect(yield* Effect.promise(() => growthOf(service, 9))).toBeLessThan(most)
      })
  )

  it.scopedLive("the test detects a leak of one kilobyte per request", () =>
    Effect.gen(function*() {
      const service = yield* makeMeasuredService({ LOG_LEVEL: "info", PLANTED: "leak" })
      expect(yield* Effect.promise(() => growthOf(service, 5))).toBeGreaterThan(most)
    }))
})
