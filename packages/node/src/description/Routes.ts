/** The service's API documentation: the OpenAPI and AsyncAPI documents, and pages. */
import type { HttpConfig } from "@startlist/http/HttpConfig"
import * as Effect from "effect/Effect"
import * as Response from "@startlist/http/api/ApiResponse"
import * as Pages from "@startlist/pages/Pages"
import { anyOrigin, type Route } from "@startlist/http/Router"
import { once } from "../SharedWork.ts"

/** Built on the first request, so that the start does not wait for it. */
const description = Effect.promise(() => import("./OpenApiDocument.ts"))

const json = (path: string, document: Effect.Effect<Uint8Array>): Route =>
  anyOrigin({
    path,
    isCompressed: true,
    methods: {
      GET: () =>
        Effect.map(document, (body) => ({ status: 200, headers: { "content-type": "application/json" }, body }))
    },
    refuse: Response.refuse
  })

/**
 * `/openapi.json`, `/asyncapi.json` and `/docs`. Each is built on its first request, and all responses share its bytes.
 */
export const routes: Effect.Effect<ReadonlyArray<Route>, never, HttpConfig> = Effect.gen(function*() {
  const text = yield* once(Effect.map(description, ({ document }) => document()))
  const document = yield* once(Effect.map(text, (text) => new TextEncoder().encode(text)))
  const pages = yield* Pages.reference(text)
  const events = yield* once(
    Effect.map(description, ({ asyncDocument }) => new TextEncoder().encode(asyncDocument()))
  )
  return [json("/openapi.json", document), json("/asyncapi.json", events), ...pages]
})
