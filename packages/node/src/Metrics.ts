/** Numbers about this process in Prometheus' text format. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { collectDefaultMetrics, Counter, Histogram, Registry } from "prom-client"
import { type Answer, Callbacks } from "@startlist/core/Callbacks"
import type { Handler } from "@startlist/http/Message"

export class Metrics extends Context.Tag("@startlist/node/Metrics")<Metrics, Metrics.Service>() {}

export declare namespace Metrics {
  export interface Service {
    /** Counts and times the requests of a handler. */
    readonly observe: (handler: Handler) => Handler
    /** Counts and times one request to a callback. */
    readonly called: (kind: "validation" | "delivery", request: Effect.Effect<Answer>) => Effect.Effect<Answer>
    readonly render: Effect.Effect<{ readonly contentType: string; readonly body: string }>
  }
}

/** Paths without identifiers, so that the number of series stays small. */
const families: ReadonlyArray<readonly [prefix: string, family: string]> = [
  ["/oauth/authorize", "authorize"],
  ["/oauth/token", "token"],
  ["/oauth/revoke", "revoke"],
  ["/oauth/introspect", "introspect"],
  ["/api/v1/athlete", "athlete"],
  ["/api/v1/webhook_subscription", "webhook_subscription"],
  ["/operator/", "operator"],
  ["/account/", "pages"],
  ["/developer/", "pages"],
  ["/login", "pages"],
  ["/logout", "pages"]
]

const familyOf = (path: string): string => families.find(([prefix]) => path.startsWith(prefix))?.[1] ?? "other"

const methods = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"])

/** From half a millisecond, a token in memory, to the time that a request may take at most. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const outcomeOf = (answer: Answer): string => answer._tag === "Answered" ? String(answer.status) : answer._tag

const make = Effect.sync((): Metrics.Service => {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const requests = new Counter({
    name: "startlist_http_requests_total",
    help: "Requests that were answered",
    labelNames: ["method", "endpoint", "status"],
    registers
  })
  const durations = new Histogram({
    name: "startlist_http_request_duration_seconds",
    help: "From a complete request to its response",
    labelNames: ["endpoint"],
    buckets,
    registers
  })
  const callbacks = new Counter({
    name: "startlist_callback_requests_total",
    help: "Requests to callbacks: the status of the answer, or TimedOut, Unreachable, Forbidden",
    labelNames: ["kind", "outcome"],
    registers
  })
  const callbackDurations = new Histogram({
    name: "startlist_callback_duration_seconds",
    help: "From the start of a request to a callback to its outcome",
    labelNames: ["kind"],
    buckets,
    registers
  })
  const seconds = (from: bigint, to: bigint): number => Number(to - from) / 1e9

  return {
    observe: (handler) => (request) =>
      Effect.flatMap(
        Clock.currentTimeNanos,
        (start) =>
          Effect.tap(handler(request), (response) =>
            Effect.map(Clock.currentTimeNanos, (end) => {
              const endpoint = familyOf(request.path)
              const method = methods.has(request.method) ? request.method : "other"
              requests.inc({ method, endpoint, status: response.status })
              durations.observe({ endpoint }, seconds(start, end))
            }))
      ),
    called: (kind, request) =>
      Effect.flatMap(
        Clock.currentTimeNanos,
        (start) =>
          Effect.tap(request, (answer) =>
            Effect.map(Clock.currentTimeNanos, (end) => {
              callbacks.inc({ kind, outcome: outcomeOf(answer) })
              callbackDurations.observe({ kind }, seconds(start, end))
            }))
      ),
    render: Effect.promise(async () => ({ contentType: registry.contentType, body: await registry.metrics() }))
  }
})

export const layer: Layer.Layer<Metrics> = Layer.effect(Metrics, make)

/** The same callbacks, counted. */
export const layerCallbacks = <E, R>(callbacks: Layer.Layer<Callbacks, E, R>): Layer.Layer<Callbacks, E, R | Metrics> =>
  Layer.effect(
    Callbacks,
    Effect.gen(function*() {
      const metrics = yield* Metrics
      const { accepts, deliver, validate } = yield* Callbacks
      return {
        accepts,
        deliver: (post) => metrics.called("delivery", deliver(post)),
        validate: (validation) => metrics.called("validation", validate(validation))
      }
    })
  ).pipe(Layer.provide(callbacks))
