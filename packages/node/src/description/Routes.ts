/** The service's API documentation: the OpenAPI and AsyncAPI documents, and a page. */
import * as Effect from "effect/Effect"
import * as Response from "@startlist/http/api/ApiResponse"
import * as Pages from "@startlist/pages/Pages"
import { anyOrigin, type Route } from "@startlist/http/Router"
import { once } from "../SharedWork.ts"

/** Built on the first request, so that the start does not wait for it. */
const description = Effect.promise(() => import("./OpenApiDocument.ts"))

/** Built on the first request, too. */
const reference = Effect.flatMap(Effect.promise(() => import("./Reference.ts")), ({ content }) => content)

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
export const routes: Effect.Effect<ReadonlyArray<Route>> = Effect.gen(function*() {
  const document = yield* once(Effect.map(description, ({ document }) => new TextEncoder().encode(document())))
  const page = yield* Pages.reference(yield* once(reference))
  const events = yield* once(
    Effect.map(description, ({ asyncDocument }) => new TextEncoder().encode(asyncDocument()))
  )
  return [json("/openapi.json", document), json("/asyncapi.json", events), page]
})
