/** Traces and metrics by OTLP, if the configuration names a collector. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Handler, header } from "@startlist/http/Message"
import * as Traces from "./Traces.ts"
import { shownPath } from "./ShownPath.ts"

const resource = { serviceName: "startlist" }

/** A collector that does not answer does not hold up the end of the process. */
const shutdownTimeout = "1 second"

/** Exports to the collector at this address, such as `http://collector:4318`. */
export const layer = (endpoint: string): Layer.Layer<never> =>
  Layer.merge(
    OtlpTracer.layer({ url: `${endpoint}/v1/traces`, resource, shutdownTimeout }),
    OtlpMetrics.layer({ url: `${endpoint}/v1/metrics`, resource, shutdownTimeout })
  ).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(NodeHttpClient.layerUndici))

/** A span for each request, in the caller's trace if it names one: method, route, path and status, never the query. */
export const traced = (handler: Handler, routeOf: (path: string) => string): Handler => (request) => {
  const parent = Option.flatMap(Option.fromNullable(header(request, "traceparent")), Traces.parse)
  return handler(request).pipe(
    Effect.tap(({ status }) => Effect.annotateCurrentSpan("http.response.status_code", status)),
    Effect.withSpan(`${request.method} ${routeOf(request.path)}`, {
      kind: "server",
      ...(Option.isSome(parent) ? { parent: parent.value } : {}),
      attributes: {
        "http.request.method": request.method,
        "http.route": routeOf(request.path),
        "url.path": shownPath(request.path)
      },
      captureStackTrace: false
    })
  )
}
