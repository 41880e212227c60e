import { describe, expect, it } from "@effect/vitest"
import { type Http, Router } from "@startlist/http"
import * as ApiResponse from "@startlist/http/api/ApiResponse"
import * as OAuthResponse from "@startlist/http/oauth/OAuthResponse"
import { Effect, Logger } from "effect"
import { Store } from "@startlist/core"

const request: Http.Request = {
  method: "GET",
  path: "/page",
  query: "",
  headers: {},
  body: new Uint8Array(),
  address: "192.0.2.1"
}

const serve = (body: Http.Response["body"]): Http.Handler => {
  const refuse: Router.Refuse = () => ({ status: 400, headers: {}, body: "" })
  const page = { path: "/page", methods: { GET: () => Effect.succeed({ status: 200, headers: {}, body }) }, refuse }
  return Router.make([page], Router.fallback(refuse))
}

it("finds the route of a path: an exact one first, then the later of two patterns", () => {
  const refuse: Router.Refuse = () => ({ status: 400, headers: {}, body: "" })
  const route = (path: string): Router.Route => ({ path, methods: {}, refuse })
  const paths = ["/a/{id}", "/a/b", "/{first}/{second}", "/a.b/{id}/c"]
  const { routeOf } = Router.make(paths.map(route), Router.fallback(refuse))
  const asked = ["/a/b", "/a/1", "/b/1", "/a.b/1/c", "/aXb/1/c", "/a/", "/"]
  expect(asked.map(routeOf)).toEqual([
    "/a/b",
    "/{first}/{second}",
    "/{first}/{second}",
    "/a.b/{id}/c",
    undefined,
    undefined,
    undefined
  ])
})

it.effect("logs the route while the store is unavailable, and no word of the client's path", () =>
  Effect.gen(function*() {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(String(message)))
    const refuse: Router.Refuse = () => ({ status: 503, headers: {}, body: "" })
    const methods = { GET: () => new Store.StoreError({ cause: new Error("away") }) }
    const handle = Router.make([{ path: "/users/{id}", methods, refuse }], Router.fallback(refuse))
    const response = handle({ ...request, path: "/users/ada@example.org" })
    expect((yield* Effect.provide(response, Logger.replace(Logger.defaultLogger, logger))).status).toBe(503)
    expect(logged).toEqual(["/users/{id}: the store is unavailable"])
  }))

it.effect("a value that the store refuses is a refused request, in every format", () =>
  Effect.gen(function*() {
    const bodies = yield* Effect.forEach([ApiResponse.refuse, OAuthResponse.refuse], (refuse) => {
      const methods = { GET: () => new Store.StoreError({ cause: new Error("22021"), isRefused: true }) }
      const handle = Router.make([{ path: "/page", methods, refuse }], Router.fallback(refuse))
      return Effect.map(handle(request), ({ body, status }) => [status, JSON.parse(String(body))])
    })
    expect(bodies).toEqual([
      [400, expect.objectContaining({ error: "invalid_request", message: "a value cannot be stored" })],
      [400, { error: "invalid_request", error_description: "a value cannot be stored" }]
    ])
  }))

describe("HEAD", () => {
  it.effect("has the length of the GET response in bytes, and no body", () =>
    Effect.gen(function*() {
      const text = "départ"
      const bytes = new TextEncoder().encode(text)
      for (const body of [text, bytes]) {
        const handle = serve(body)
        expect((yield* handle(request)).body).toBe(body)
        const head = yield* handle({ ...request, method: "HEAD" })
        expect(head).toEqual({ status: 200, headers: { "content-length": String(bytes.byteLength) }, body: "" })
      }
    }))
})
