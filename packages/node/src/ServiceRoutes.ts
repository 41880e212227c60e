/** Routes of the service itself: health, readiness and metrics of this process, and the description of its API. */
import { isIP } from "node:net"
import { hostname } from "node:os"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Response from "@startlist/http/api/ApiResponse"
import { header, type Request } from "@startlist/http/Http"
import type { HttpConfig } from "@startlist/http/HttpConfig"
import { anyOrigin, type Endpoint, type Route } from "@startlist/http/Router"
import * as Pages from "@startlist/pages/Pages"
import { type DatabaseClock, DatabaseHealth } from "./data/DatabaseHealth.ts"
import { isOperator, makeRefuseStranger } from "./operator/OperatorApi.ts"
import type { Page } from "./processes/Link.ts"
import { hostOf } from "./settings/Configuration.ts"
import { shared } from "./SharedWork.ts"

const notReady = (status: string) => Response.json(503, { status }, { "retry-after": "5" })

const isLoopback = (address: string): boolean => /^(?:127\.|::1$|::ffff:127\.)/.test(address)

/**
 * Whether a request names this machine. A page whose own name was pointed to this machine (DNS rebinding) sends that
 * name, and could otherwise read the response.
 */
const namesThisMachine = (request: Request): boolean => {
  const url = `http://${header(request, "host") ?? ""}`
  const name = URL.canParse(url) ? hostOf(url) : ""
  return name === "localhost" || name === hostname().toLowerCase() || (isIP(name) !== 0 && isLoopback(name))
}

/** Whether a browser sends the request for a page of another site. */
const isCrossSite = (request: Request): boolean =>
  header(request, "origin") !== undefined || /^(?:cross|same)-site$/.test(header(request, "sec-fetch-site") ?? "")

/** Whether a program on this machine sends the request, and not a proxy, or a browser for a page from elsewhere. */
const isLocal = (request: Request): boolean =>
  isLoopback(request.address) && namesThisMachine(request) && !isCrossSite(request) &&
  header(request, "x-forwarded-for") === undefined && header(request, "forwarded") === undefined

const route = (path: string, get: Endpoint): Route => ({
  path,
  methods: { GET: get },
  refuse: Response.refuse,
  always: true
})

/**
 * - `/healthz`: 200 while the process answers.
 * - `/readyz`: 200 if the database takes writes and has this program's tables, and the clocks agree; 503 if not, and while
 *   `draining`.
 * - `/metrics`: Prometheus text, for requests with the operator token or by programs on this machine.
 */
export const statusRoutes = Effect.fnUntraced(function*(
  token: Redacted.Redacted<string>,
  draining: Ref.Ref<boolean>,
  clock: Pick<DatabaseClock, "check">,
  metrics: Effect.Effect<Page>
) {
  const database = yield* DatabaseHealth
  const isAllowed = isOperator(token)
  const refuseStranger = yield* makeRefuseStranger

  const ready = Effect.zipRight(database.check, clock.check).pipe(
    Effect.as(Response.json(200, { status: "ready" })),
    Effect.catchTag(
      "@startlist/node/ClockDiffers",
      () => Effect.succeed(notReady("the clock differs from that of the database"))
    ),
    Effect.catchAllCause(() => Effect.succeed(notReady("the database does not take writes")))
  )

  return [
    route("/healthz", () => Effect.succeed(Response.json(200, { status: "alive" }))),
    route(
      "/readyz",
      () => Effect.flatMap(Ref.get(draining), (stops) => stops ? Effect.succeed(notReady("stopping")) : ready)
    ),
    route("/metrics", (request) =>
      isAllowed(request) || isLocal(request)
        ? Effect.map(metrics, ({ body, contentType }) => ({
          status: 200,
          headers: { "content-type": contentType, "cache-control": "no-store" },
          body
        }))
        : refuseStranger(request))
  ]
})

/** Built on the first request, so that the start does not wait for it. */
const documents = Effect.promise(() => import("./description/OpenApiDocument.ts"))

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
export const descriptionRoutes: Effect.Effect<ReadonlyArray<Route>, never, HttpConfig> = Effect.gen(function*() {
  const text = yield* shared(Effect.map(documents, ({ document }) => document()))
  const document = yield* shared(Effect.map(text, (text) => new TextEncoder().encode(text)))
  const pages = yield* Pages.reference(text)
  const events = yield* shared(Effect.map(documents, ({ asyncDocument }) => new TextEncoder().encode(asyncDocument())))
  return [json("/openapi.json", document), json("/asyncapi.json", events), ...pages]
})
