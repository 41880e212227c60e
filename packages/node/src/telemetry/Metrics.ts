/**
 * Metrics of this process, recorded with Effect's metrics (which OTLP also exports) and rendered as Prometheus text.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { once } from "../SharedWork.ts"
import * as Gauges from "./Gauges.ts"
import * as Prometheus from "./Prometheus.ts"
import * as Series from "./Series.ts"

/** Loaded on the first request for metrics, so that the start does not wait for it. */
const watch = Effect.map(Effect.promise(() => import("./ProcessMetrics.ts")), ({ watch }) => watch())

/** All metrics as text, and its content type. */
export interface Page {
  readonly contentType: string
  readonly body: string
}

/** Renders all metrics as Prometheus text. An `installation` is a label of each series. */
export const makeRender = Effect.fnUntraced(function*(installation: Option.Option<string>) {
  const common = Option.match(installation, { onNone: () => ({}), onSome: (name) => ({ installation: name }) })
  const watching = yield* once(watch)
  const sample = yield* Gauges.make
  return Effect.gen(function*() {
    const registry = yield* watching
    registry.setDefaultLabels(common)
    yield* sample
    const process = yield* Effect.promise(() => registry.metrics())
    return {
      contentType: registry.contentType,
      body: Prometheus.render(Metric.unsafeSnapshot(), Series.prefix, common) + process
    }
  })
})
