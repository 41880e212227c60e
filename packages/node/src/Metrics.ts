/**
 * Metrics of this process, recorded with Effect's metrics (which OTLP also exports) and rendered as Prometheus text.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { once } from "./internal/once.ts"
import * as Prometheus from "./internal/prometheus.ts"
import * as Levels from "./metrics/Levels.ts"
import * as Series from "./metrics/Series.ts"
import * as Workers from "./metrics/Workers.ts"

/** Loaded on the first request for metrics, so that the start does not wait for it. */
const watch = Effect.map(Effect.promise(() => import("./metrics/Process.ts")), (process) => process.watch())

/** Updates the gauges of the database. */
export const makeLook = Effect.map(
  Effect.all([Levels.make, Workers.make]),
  (looks) => Effect.all(looks, { concurrency: "unbounded", discard: true })
)

export interface Page {
  readonly contentType: string
  readonly body: string
}

/** Renders all metrics as Prometheus text. An `installation` is a label of each series. */
export const makeRender = Effect.fnUntraced(function*(installation: Option.Option<string>) {
  const common = Option.match(installation, { onNone: () => ({}), onSome: (name) => ({ installation: name }) })
  const watching = yield* once(watch)
  const look = yield* makeLook
  return Effect.gen(function*() {
    const registry = yield* watching
    registry.setDefaultLabels(common)
    yield* look
    const process = yield* Effect.promise(() => registry.metrics())
    return {
      contentType: registry.contentType,
      body: Prometheus.render(Metric.unsafeSnapshot(), Series.prefix, common) + process
    }
  })
})
