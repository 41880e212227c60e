/**
 * Traces and metrics by OTLP, if the configuration names a collector. Sampled requests and the deliveries of their
 * events have spans. Events store the `traceparent` of their request, so deliveries on any node continue the trace.
 */
import { randomUUID } from "node:crypto"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Headers from "@effect/platform/Headers"
import * as HttpTraceContext from "@effect/platform/HttpTraceContext"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Tracer from "effect/Tracer"
import { type Answer, Callbacks } from "@startlist/core/Callbacks"
import { CurrentTrace } from "@startlist/core/Event"
import { type Handler, header } from "@startlist/http/Http"
import type { Configuration } from "../settings/Configuration.ts"
import type { Sampler, Signal } from "../settings/Otlp.ts"
import { version } from "../Version.ts"
import { isProbe, shownPath } from "./Requests.ts"

/** Maximum delay of the process's end by a collector that does not answer. Less is too short on a busy machine. */
const shutdownTimeout = "2 seconds"

type Settings = Pick<Configuration, "installation" | "otlp">

/** Resource of this process: version, installation and instance identifier, unless the attributes set them. */
const resourceOf = ({ installation, otlp: { attributes } }: Settings) => {
  const { "service.name": serviceName = "", "service.version": serviceVersion = version, ...others } = attributes
  return {
    serviceName,
    serviceVersion,
    attributes: {
      "service.instance.id": randomUUID(),
      ...Option.match(installation, { onNone: () => ({}), onSome: (name) => ({ "service.namespace": name }) }),
      ...others
    }
  }
}

const traceparentOf = (span: Tracer.Span): Option.Option<string> =>
  span.sampled ? Option.fromNullable(HttpTraceContext.toHeaders(span)["traceparent"]) : Option.none()

/** The trace that the caller of a request names, if any. */
interface Caller {
  readonly parent?: Tracer.ExternalSpan
}

const parentOf = (traceparent: Option.Option<string>): Caller =>
  traceparent.pipe(
    Option.flatMap((traceparent) => HttpTraceContext.w3c(Headers.unsafeFromRecord({ traceparent }))),
    Option.match({ onNone: () => ({}), onSome: (parent) => ({ parent }) })
  )

const layerTrace = Layer.succeed(
  CurrentTrace,
  Effect.match(Effect.currentSpan, { onFailure: () => Option.none(), onSuccess: traceparentOf })
)

/** Exports to the configured collectors. Only `makeTraced` and `layerCallbacks` create spans. */
export const layer = (settings: Settings): Layer.Layer<CurrentTrace> => {
  const resource = resourceOf(settings)
  const exporter = (of: Option.Option<Signal>, layer: typeof OtlpTracer.layer | typeof OtlpMetrics.layer) =>
    Option.match(of, {
      onNone: () => Layer.empty,
      onSome: ({ headers, protocol, url }) =>
        layer({ url, resource, shutdownTimeout, headers: Redacted.value(headers) }).pipe(
          Layer.provide(protocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf)
        )
    })
  return Layer.mergeAll(
    exporter(settings.otlp.traces, OtlpTracer.layer),
    exporter(settings.otlp.metrics, OtlpMetrics.layer)
  ).pipe(
    Layer.provide(NodeHttpClient.layerUndici),
    // Otherwise the library would also read variables.
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map()))),
    Layer.merge(Layer.setTracerEnabled(false)),
    Layer.merge(layerTrace)
  )
}

const maxId = 16 ** 13

/** Whether to trace a request. All nodes decide alike for one trace. */
const isSampled = ({ followsCaller, ratio }: Sampler, { parent }: Caller): boolean => {
  if (parent === undefined) return Math.random() < ratio
  return followsCaller ? parent.sampled : Number.parseInt(parent.traceId.slice(-13), 16) / maxId < ratio
}

/**
 * Creates a span for each sampled request except probes, in the caller's trace if it names one. Attributes: method,
 * route, path and status, never the query.
 */
export const makeTraced =
  (sampler: Sampler) => (handler: Handler, routeOf: (path: string) => string): Handler => (request) => {
    const route = routeOf(request.path)
    const caller = parentOf(Option.fromNullable(header(request, "traceparent")))
    return isProbe(route) || !isSampled(sampler, caller) ? handler(request) : handler(request).pipe(
      Effect.tap(({ status }) => Effect.annotateCurrentSpan("http.response.status_code", status)),
      Effect.withSpan(`${request.method} ${route}`, {
        kind: "server",
        ...caller,
        attributes: {
          "http.request.method": request.method,
          "http.route": route,
          "url.path": shownPath(request.path)
        },
        captureStackTrace: false
      }),
      Effect.withTracerEnabled(true)
    )
  }

const outcomeOf = (answer: Answer): readonly [string, string | number] =>
  answer._tag === "Answered" ? ["http.response.status_code", answer.status] : ["error.type", answer._tag]

/** Adds a span to each attempt of an event that has a trace. No attribute contains the query of the callback. */
export const layerCallbacks = <E, R>(callbacks: Layer.Layer<Callbacks, E, R>): Layer.Layer<Callbacks, E, R> =>
  Layer.effect(
    Callbacks,
    Effect.map(Callbacks, ({ deliver, problem, validate }) => ({
      problem,
      validate,
      deliver: (post) =>
        Option.isNone(post.trace) ? deliver(post) : Effect.useSpan(
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
        ).pipe(Effect.withTracerEnabled(true))
    }))
  ).pipe(Layer.provide(callbacks))
