/** Numbers about this process: counted by Effect's metrics, which OTLP exports too, and shown as Prometheus text. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import { collectDefaultMetrics, Registry } from "prom-client"
import { type Answer, Callbacks } from "@startlist/core/Callbacks"
import type { Handler } from "@startlist/http/Message"
import * as Prometheus from "./internal/prometheus.ts"

/** In front of every name of ours. */
const prefix = "startlist_"

/** From half a millisecond, a token in memory, to the time that a request may take at most. */
const boundaries = MetricBoundaries.fromIterable(
  [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
)

const requests = Metric.counter(`${prefix}http_requests_total`, { description: "Requests that were answered" })
const requestDurations = Metric.histogram(
  `${prefix}http_request_duration_seconds`,
  boundaries,
  "From a complete request to its response"
)
const callbackRequests = Metric.counter(`${prefix}callback_requests_total`, {
  description: "Requests to callbacks: the status of the answer, or TimedOut, Unreachable, Forbidden"
})
const callbackDurations = Metric.histogram(
  `${prefix}callback_duration_seconds`,
  boundaries,
  "From the start of a request to a callback to its outcome"
)

/** One series for each combination of labels, looked up by their values. */
const series = <Type, Out>(metric: Metric.Metric<Type, number, Out>, names: ReadonlyArray<string>) => {
  const known = new Map<string, Metric.Metric<Type, number, Out>>()
  return (values: ReadonlyArray<string>, amount: number): void => {
    const key = values.join(" ")
    let one = known.get(key)
    if (one === undefined) {
      one = Metric.taggedWithLabels(metric, names.map((name, i) => MetricLabel.make(name, values[i] ?? "")))
      known.set(key, one)
    }
    one.unsafeUpdate(amount, [])
  }
}

const countRequest = series(requests, ["method", "endpoint", "status"])
const timeRequest = series(requestDurations, ["endpoint"])
const countCallback = series(callbackRequests, ["kind", "outcome"])
const timeCallback = series(callbackDurations, ["kind"])

/** Paths without identifiers, so that the number of series stays small. */
const families: ReadonlyArray<readonly [prefix: string, family: string]> = [
  ["/oauth/token", "token"],
  ["/oauth/authorize", "authorize"],
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

/** The family of a path. */
export const familyOf = (path: string): string => families.find(([prefix]) => path.startsWith(prefix))?.[1] ?? "other"

const methods = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"])

const outcomeOf = (answer: Answer): string => answer._tag === "Answered" ? String(answer.status) : answer._tag

/** Tells how many seconds an effect took. */
const timed = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  tell: (seconds: number, value: A) => void
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.currentTimeNanos, (start) =>
    Effect.tap(
      effect,
      (value) => Effect.map(Clock.currentTimeNanos, (end) => tell(Number(end - start) / 1e9, value))
    ))

/** Counts and times the requests of a handler. */
export const observe = (handler: Handler): Handler => (request) =>
  timed(handler(request), (seconds, { status }) => {
    const endpoint = familyOf(request.path)
    countRequest([methods.has(request.method) ? request.method : "other", endpoint, String(status)], 1)
    timeRequest([endpoint], seconds)
  })

const called = (kind: string, request: Effect.Effect<Answer>) =>
  timed(request, (seconds, answer) => {
    countCallback([kind, outcomeOf(answer)], 1)
    timeCallback([kind], seconds)
  })

/** The same callbacks, counted and timed. */
export const layerCallbacks = <E, R>(callbacks: Layer.Layer<Callbacks, E, R>): Layer.Layer<Callbacks, E, R> =>
  Layer.effect(
    Callbacks,
    Effect.map(Callbacks, ({ accepts, deliver, validate }) => ({
      accepts,
      deliver: (post) => called("delivery", deliver(post)),
      validate: (validation) => called("validation", validate(validation))
    }))
  ).pipe(Layer.provide(callbacks))

/** Starts watching this process; answers how to show its numbers and ours as Prometheus text. */
export const makeRender = Effect.sync(() => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return Effect.map(Effect.promise(() => registry.metrics()), (process) => ({
    contentType: registry.contentType,
    body: Prometheus.render(Metric.unsafeSnapshot(), prefix) + process
  }))
})
