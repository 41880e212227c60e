/** Numbers about this process: counted by Effect's metrics, which OTLP exports too, and shown as Prometheus text. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { collectDefaultMetrics, Registry } from "prom-client"
import * as Prometheus from "./internal/prometheus.ts"
import * as Levels from "./metrics/Levels.ts"
import * as Series from "./metrics/Series.ts"

/** Starts watching this process; answers how to show its numbers and ours as Prometheus text. */
export const makeRender = Effect.gen(function*() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const look = yield* Levels.make
  return Effect.map(Effect.zipRight(look, Effect.promise(() => registry.metrics())), (process) => ({
    contentType: registry.contentType,
    body: Prometheus.render(Metric.unsafeSnapshot(), Series.prefix) + process
  }))
})
