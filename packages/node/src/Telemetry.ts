/**
 * Traces and metrics by OTLP, if the configuration names a collector. Spans are made for requests that are sampled, and
 * for the deliveries of their events: an event carries the `traceparent` of its request, so that its deliveries continue
 * that trace, later and on any node. `traceparent` is read and written here only.
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
import { type Handler, header } from "@startlist/http/Message"
import type { Configuration } from "./Configuration.ts"
import type { Sampler, Signal } from "./internal/otlp.ts"
import { version } from "./internal/version.ts"
import { shownPath } from "./ShownPath.ts"
import { isProbe } from "./Status.ts"

/** A collector that does not answer holds up the end of the process for no longer. A busy machine needs its time for the last spans. */
const shutdownTimeout = "2 seconds"

type Settings = Pick<Configuration, "installation" | "otlp">

/** This process to the collector: the version, the installation and an identifier of its own, unless the attributes have them. */
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

/** The caller of a request, if it names its trace. */
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

/** Exports to the collectors that are named. Spans are made only where `traced` and `layerCallbacks` ask for them. */
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
    // The library would read variables by rules of its own.
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map()))),
    Layer.merge(Layer.setTracerEnabled(false)),
    Layer.merge(layerTrace)
  )
}

const maxId = 16 ** 13

/** Whether to trace a request. For one trace, every node decides alike. */
const isSampled = ({ followsCaller, ratio }: Sampler, { parent }: Caller): boolean => {
  if (parent === undefined) return Math.random() < ratio
  return followsCaller ? parent.sampled : Number.parseInt(parent.traceId.slice(-13), 16) / maxId < ratio
}

/**
 * A span for each request that is sampled and no probe, in the caller's trace if it names one: method, route, path and
 * status, never the query.
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

/**
 * The same callbacks, with a span for each attempt of an event that has a trace. No attribute has the query of the
 * callback.
 */
export const layerCallbacks = <E, R>(callbacks: Layer.Layer<Callbacks, E, R>): Layer.Layer<Callbacks, E, R> =>
  Layer.effect(
    Callbacks,
    Effect.map(Callbacks, ({ accepts, deliver, validate }) => ({
      accepts,
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
