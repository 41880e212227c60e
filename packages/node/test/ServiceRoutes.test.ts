/** `/metrics` without the operator token: for programs on this machine, and not for pages in a browser on it. */
import { expect, it } from "@effect/vitest"
import { Effect, Redacted, Ref } from "effect"
import { hostname } from "node:os"
import { FailureLimit, Http } from "@startlist/http"
import { DatabaseHealth } from "../src/data/DatabaseHealth.ts"
import * as ServiceRoutes from "../src/ServiceRoutes.ts"

const statusOf = (address: string, headers: Http.Request["headers"]) =>
  Effect.gen(function*() {
    const page = Effect.succeed({ contentType: "text/plain", body: "numbers" })
    const clock = { check: Effect.void }
    const routes = yield* ServiceRoutes.statusRoutes(Redacted.make("token"), yield* Ref.make(false), clock, page)
    const get = routes.find(({ path }) => path === "/metrics")?.methods["GET"]
    if (get === undefined) return undefined
    const request = { method: "GET", path: "/metrics", query: "", headers, body: new Uint8Array(), address }
    return (yield* get(request, [])).status
  }).pipe(
    Effect.provideService(DatabaseHealth, { description: "", check: Effect.void }),
    Effect.provide(FailureLimit.layerMemory)
  )

it.effect("programs on this machine get the metrics, by each of its names", () =>
  Effect.gen(function*() {
    for (const host of ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "127.0.0.53", "LOCALHOST", hostname()]) {
      expect(yield* statusOf("127.0.0.1", { host })).toBe(200)
      expect(yield* statusOf("::1", { host })).toBe(200)
    }
    expect(yield* statusOf("192.0.2.1", { host: "localhost" })).toBe(401)
    expect(yield* statusOf("192.0.2.1", { host: "localhost", authorization: "Bearer token" })).toBe(200)
  }))

it.effect("a page in a browser on this machine does not, also if its name was pointed to this machine", () =>
  Effect.gen(function*() {
    const hosts = ["evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "1270.0.0.1", "a/b", ""]
    for (const host of hosts) expect(yield* statusOf("127.0.0.1", { host })).toBe(401)
    expect(yield* statusOf("127.0.0.1", {})).toBe(401)
    const host = "127.0.0.1:8080"
    expect(yield* statusOf("127.0.0.1", { host, origin: "https://evil.example" })).toBe(401)
    expect(yield* statusOf("127.0.0.1", { host, "sec-fetch-site": "cross-site" })).toBe(401)
    expect(yield* statusOf("127.0.0.1", { host, "sec-fetch-site": "same-site" })).toBe(401)
    expect(yield* statusOf("127.0.0.1", { host, "sec-fetch-site": "none" })).toBe(200)
  }))

it.effect("a proxy on this machine does not get them for others", () =>
  Effect.gen(function*() {
    const host = "127.0.0.1:8080"
    expect(yield* statusOf("127.0.0.1", { host, "x-forwarded-for": "127.0.0.1" })).toBe(401)
    expect(yield* statusOf("127.0.0.1", { host, forwarded: "for=127.0.0.1" })).toBe(401)
    expect(yield* statusOf("127.0.0.1", { host: "auth.example.org" })).toBe(401)
  }))
