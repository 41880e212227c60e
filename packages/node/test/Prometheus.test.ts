/** Effect's metrics in the format of Prometheus. */
import { expect, it } from "@effect/vitest"
import { Effect, Metric, MetricBoundaries } from "effect"
import { render } from "../src/telemetry/Prometheus.ts"

it.effect("counters and histograms have each family once, cumulative buckets and escaped labels; others are omitted", () =>
  Effect.gen(function*() {
    const counter = Metric.counter("prom_test_total", { description: "How often" })
    const histogram = Metric.histogram("prom_test_seconds", MetricBoundaries.fromIterable([0.1, 1]), "How long")
    yield* Metric.update(counter.pipe(Metric.tagged("who", "a \"b\" \\ \n c")), 1)
    yield* Metric.update(counter.pipe(Metric.tagged("who", "d")), 2)
    for (const value of [0.05, 0.5, 0.7, 5]) yield* Metric.update(histogram, value)
    yield* Metric.increment(Metric.counter("elsewhere_total"))
    const lines = render(Metric.unsafeSnapshot(), "prom_test_").trimEnd().split("\n")
    expect([...lines].sort()).toEqual([
      "# HELP prom_test_seconds How long",
      "# HELP prom_test_total How often",
      "# TYPE prom_test_seconds histogram",
      "# TYPE prom_test_total counter",
      "prom_test_seconds_bucket{le=\"+Inf\"} 4",
      "prom_test_seconds_bucket{le=\"0.1\"} 1",
      "prom_test_seconds_bucket{le=\"1\"} 3",
      "prom_test_seconds_count 4",
      "prom_test_seconds_sum 6.25",
      "prom_test_total{who=\"a \\\"b\\\" \\\\ \\n c\"} 1",
      "prom_test_total{who=\"d\"} 2"
    ].sort())
  }))
