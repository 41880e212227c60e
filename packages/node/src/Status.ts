/** Health, readiness and metrics of this process. */
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Response from "@startlist/http/api/ApiResponse"
import { header, type Request } from "@startlist/http/Http"
import type { Endpoint, Route } from "@startlist/http/Router"
import { Database } from "./Database.ts"
import type * as Metrics from "./Metrics.ts"
import { isOperator, makeRefuseStranger } from "./OperatorToken.ts"

const notReady = (status: string) => Response.json(503, { status }, { "retry-after": "5" })

/** Whether a request comes from this machine, and not through a proxy on it. */
const isLocal = (request: Request): boolean =>
  /^(?:127\.|::1$|::ffff:127\.)/.test(request.address) &&
  header(request, "x-forwarded-for") === undefined && header(request, "forwarded") === undefined

const probes = new Set(["/healthz", "/readyz", "/metrics"])

/** Whether monitoring requests this route all the time. Traces and logs at `info` omit these requests. */
export const isProbe = (route: string): boolean => probes.has(route)

const route = (path: string, get: Endpoint): Route => ({
  path,
  methods: { GET: get },
  refuse: Response.refuse,
  always: true
})

/**
 * - `/healthz`: 200 while the process answers.
 * - `/readyz`: 200 if the database takes writes and has this program's tables; 503 if not, and while `draining`.
 * - `/metrics`: Prometheus text, for requests with the operator token or from this machine.
 */
export const routes = Effect.fnUntraced(function*(
  token: Redacted.Redacted<string>,
  draining: Ref.Ref<boolean>,
  metrics: Effect.Effect<Metrics.Page>
) {
  const database = yield* Database
  const isAllowed = isOperator(token)
  const refuseStranger = yield* makeRefuseStranger

  const ready = database.check.pipe(
    Effect.as(Response.json(200, { status: "ready" })),
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
