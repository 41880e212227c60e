/** What this service says about its interface: the OpenAPI document, and the page that shows it. */
import * as Effect from "effect/Effect"
import * as Response from "@startlist/http/api/ApiResponse"
import type { Response as PlainResponse } from "@startlist/http/Message"
import type { Endpoint, Route } from "@startlist/http/Router"
import { once } from "./internal/once.ts"

const headers: PlainResponse["headers"] = {
  "content-type": "text/html; charset=utf-8",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
}

/** The description is built when somebody asks for it: a service that nobody asks starts without. */
const description = Effect.promise(() => import("./Description.ts"))

/** So is the page. */
const reference = Effect.flatMap(Effect.promise(() => import("./Reference.ts")), ({ page }) => page)

const route = (path: string, get: Endpoint): Route => ({ path, methods: { GET: get }, refuse: Response.refuse })

/** `/openapi.json` and `/docs`: made when somebody asks for them, as bytes, of which all answers share one copy. */
export const routes: Effect.Effect<ReadonlyArray<Route>> = Effect.gen(function*() {
  const document = yield* once(Effect.map(description, ({ document }) => new TextEncoder().encode(document())))
  const page = yield* once(reference)
  return [
    route("/openapi.json", () =>
      Effect.map(document, (body) => ({
        status: 200,
        headers: { "content-type": "application/json", "access-control-allow-origin": "*" },
        body
      }))),
    route("/docs", () =>
      Effect.map(page, (body) => ({
        status: 200,
        headers: {
          ...headers,
          "content-security-policy":
            "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: 'self'; font-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
        },
        body
      })))
  ]
})
