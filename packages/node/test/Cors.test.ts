/** Responses that scripts of other origins may read. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Refusal, Router } from "@startlist/http"
import * as Service from "@startlist/node/Service"
import * as InMemory from "../../pages/test/support/Service.ts"

const open = [
  "/.well-known/oauth-authorization-server",
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-protected-resource/api/v1",
  "/.well-known/oauth-protected-resource/api/v1/athlete",
  "/.well-known/oauth-protected-resource/api/v1/webhook_subscription",
  "/.well-known/oauth-protected-resource/api/v1/webhook_subscription/events",
  "/api/v1/athlete",
  "/api/v1/webhook_subscription",
  "/api/v1/webhook_subscription/events",
  "/openapi.json",
  "/asyncapi.json"
]

const preflight = {
  "origin": "https://anywhere.example",
  "access-control-request-method": "GET",
  "access-control-request-headers": "authorization, content-type"
}

const routes = Effect.provide(Service.apiRoutes, InMemory.layer())

const send = (route: Router.Route, method: string, refusal?: Refusal.Refusal) =>
  Router.make([route], Router.fallback(route.refuse))({
    method,
    path: route.path.replaceAll(/\{\w+\}/g, "1"),
    query: "",
    headers: preflight,
    body: new Uint8Array(),
    address: "192.0.2.1",
    ...(refusal === undefined ? {} : { refusal })
  })

describe("scripts of other origins", () => {
  it.effect("may read every response of the API, the metadata and the description, and no other", () =>
    Effect.gen(function*() {
      for (const route of yield* routes) {
        const methods = [...Object.keys(route.methods), "HEAD", "PUT"]
        const responses = [
          ...yield* Effect.forEach(methods, (method) => send(route, method)),
          yield* send(route, "GET", new Refusal.Busy())
        ]
        for (const { headers } of responses) {
          expect([route.path, headers["access-control-allow-origin"]]).toEqual([
            route.path,
            open.includes(route.path) ? "*" : undefined
          ])
          expect(headers["access-control-allow-credentials"]).toBeUndefined()
          if (open.includes(route.path)) {
            expect(headers["access-control-expose-headers"]).toMatch(/Retry-After, WWW-Authenticate/)
          }
        }
      }
    }))

  it.effect("get an answer to a preflight request there, and 405 elsewhere", () =>
    Effect.gen(function*() {
      const found = yield* routes
      expect(found.map(({ path }) => path)).toEqual(expect.arrayContaining([...open, "/oauth/token", "/login"]))
      for (const route of found) {
        const { headers, status } = yield* send(route, "OPTIONS")
        if (!open.includes(route.path)) {
          expect([route.path, status]).toEqual([route.path, 405])
          continue
        }
        expect([route.path, status]).toEqual([route.path, 204])
        expect(headers["access-control-allow-methods"]).toContain("GET, HEAD")
        expect(headers["access-control-allow-headers"]).toContain("Authorization")
      }
    }))
})
