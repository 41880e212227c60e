/** What this service says about its interface: the OpenAPI document, and the page that shows it. */
import * as Effect from "effect/Effect"
import * as Response from "@startlist/http/api/ApiResponse"
import * as Pages from "@startlist/pages/Pages"
import { anyOrigin } from "@startlist/http/Cors"
import type { Route } from "@startlist/http/Router"
import { once } from "./internal/once.ts"

/** The description is built when somebody asks for it: a service that nobody asks starts without. */
const description = Effect.promise(() => import("./Description.ts"))

/** So is the page. */
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

/** `/openapi.json`, `/asyncapi.json` and `/docs`: made when somebody asks for them, as bytes, of which all answers share one copy. */
export const routes: Effect.Effect<ReadonlyArray<Route>> = Effect.gen(function*() {
  const document = yield* once(Effect.map(description, ({ document }) => new TextEncoder().encode(document())))
  const page = yield* Pages.reference(yield* once(reference))
  const events = yield* once(
    Effect.map(description, ({ asyncDocument }) => new TextEncoder().encode(asyncDocument()))
  )
  return [json("/openapi.json", document), json("/asyncapi.json", events), page]
})
