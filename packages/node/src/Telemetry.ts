/**
 * Traces and metrics by OTLP, if the configuration names a collector. An event carries the `traceparent` of the request
 * that caused it, so that its deliveries continue that trace, later and on any node. `traceparent` is read and written
 * here only.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Headers from "@effect/platform/Headers"
import * as HttpTraceContext from "@effect/platform/HttpTraceContext"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Tracer from "effect/Tracer"
import { type Answer, Callbacks } from "@startlist/core/Callbacks"
import { CurrentTrace } from "@startlist/core/Event"
import { type Handler, header } from "@startlist/http/Message"
import { shownPath } from "./ShownPath.ts"

const resource = { serviceName: "startlist" }

/** A collector that does not answer holds up the end of the process for no longer. A busy machine needs its time for the last spans. */
const shutdownTimeout = "2 seconds"

const traceparentOf = (span: Tracer.Span): Option.Option<string> =>
  span.sampled ? Option.fromNullable(HttpTraceContext.toHeaders(span)["traceparent"]) : Option.none()

const parentOf = (traceparent: Option.Option<string>): { readonly parent?: Tracer.ExternalSpan } =>
  traceparent.pipe(
    Option.flatMap((traceparent) => HttpTraceContext.w3c(Headers.unsafeFromRecord({ traceparent }))),
    Option.match({ onNone: () => ({}), onSome: (parent) => ({ parent }) })
  )

const layerTrace = Layer.succeed(
  CurrentTrace,
  Effect.match(Effect.currentSpan, { onFailure: () => Option.none(), onSuccess: traceparentOf })
)

/** Exports to the collector at this address, such as `http://collector:4318`. Events carry the trace of their request. */
export const layer = (endpoint: string): Layer.Layer<CurrentTrace> =>
  Layer.mergeAll(
    OtlpTracer.layer({ url: `${endpoint}/v1/traces`, resource, shutdownTimeout }),
    OtlpMetrics.layer({ url: `${endpoint}/v1/metrics`, resource, shutdownTimeout })
  ).pipe(
    Layer.provide(OtlpSerialization.layerJson),
    Layer.provide(NodeHttpClient.layerUndici),
    Layer.merge(layerTrace)
  )

/** A span for each request, in the caller's trace if it names one: method, route, path and status, never the query. */
export const traced = (handler: Handler, routeOf: (path: string) => string): Handler => (request) =>
  handler(request).pipe(
    Effect.tap(({ status }) => Effect.annotateCurrentSpan("http.response.status_code", status)),
    Effect.withSpan(`${request.method} ${routeOf(request.path)}`, {
      kind: "server",
      ...parentOf(Option.fromNullable(header(request, "traceparent"))),
      attributes: {
        "http.request.method": request.method,
        "http.route": routeOf(request.path),
        "url.path": shownPath(request.path)
      },
      captureStackTrace: false
    })
  )

const outcomeOf = (answer: Answer): readonly [string, string | number] =>
  answer._tag === "Answered" ? ["http.response.status_code", answer.status] : ["error.type", answer._tag]

/** The same callbacks, with a span for each attempt, in the trace of its event. No attribute has the query of the callback. */
export const layerCallbacks = <E, R>(callbacks: Layer.Layer<Callbacks, E, R>): Layer.Layer<Callbacks, E, R> =>
  Layer.effect(
    Callbacks,
    Effect.map(Callbacks, ({ accepts, deliver, validate }) => ({
      accepts,
      validate,
      deliver: (post) =>
        Effect.useSpan(
          "POST callback",
          {
            kind: "client",
            captureStackTrace: false,
            ...parentOf(post.trace),
            attributes: {
              "http.request.method": "POST",
              "server.address": new URL(post.callbackUrl).hostname,
              "webhook.id": post.id
            }
          },
          (span) =>
            Effect.map(deliver({ ...post, trace: traceparentOf(span) }), (answer) => {
              span.attribute(...outcomeOf(answer))
              return answer
            })
        )
    }))
  ).pipe(Layer.provide(callbacks))
