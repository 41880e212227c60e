/** The series of a metric, one per combination of label values. Updates need no fiber. */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"

/** Prefix of our metric names. */
export const prefix = "startlist_"

/** Buckets in seconds, from half a millisecond (a token in memory) to the maximum duration of a request. */
export const shortTimes = MetricBoundaries.fromIterable(
  [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
)

/** Buckets in seconds, from an immediate delivery to one after the last of many retries. */
export const longTimes = MetricBoundaries.fromIterable(
  [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 14_400, 86_400]
)

/** All series of one metric. */
export interface Series {
  /** Adds to a counter, observes in a histogram, sets a gauge. */
  readonly update: (amount: number, ...values: ReadonlyArray<string>) => void
  /** Returns the update function of one combination, so that callers can cache it. */
  readonly at: (...values: ReadonlyArray<string>) => (amount: number) => void
  /** Creates a combination at the start: a rate over a series that appears with its first event misses that event. */
  readonly declare: (...values: ReadonlyArray<string>) => void
}

/** All series of `metric`, by the values of these labels. */
const make = <Type, Out>(
  metric: Metric.Metric<Type, number, Out>,
  ...labels: ReadonlyArray<string>
): Series => {
  const known = new Map<string, Metric.Metric<Type, number, Out>>()
  const find = (values: ReadonlyArray<string>) => {
    const key = values.join(" ")
    let one = known.get(key)
    if (one === undefined) {
      one = Metric.taggedWithLabels(metric, labels.map((label, i) => MetricLabel.make(label, values[i] ?? "")))
      known.set(key, one)
    }
    return one
  }
  return {
    at: (...values) => {
      const one = find(values)
      return (amount) => one.unsafeUpdate(amount, [])
    },
    update: (amount, ...values) => find(values).unsafeUpdate(amount, []),
    declare: (...values) => void find(values).unsafeValue([])
  }
}

/** A counter with these labels. The prefix is added to its name. */
export const counter = (name: string, description: string, ...labels: ReadonlyArray<string>): Series =>
  make(Metric.counter(prefix + name, { description }), ...labels)

/** A gauge with these labels. The prefix is added to its name. */
export const gauge = (name: string, description: string, ...labels: ReadonlyArray<string>): Series =>
  make(Metric.gauge(prefix + name, { description }), ...labels)

/** A histogram with these buckets and labels. The prefix is added to its name. */
export const histogram = (
  name: string,
  buckets: MetricBoundaries.MetricBoundaries,
  description: string,
  ...labels: ReadonlyArray<string>
): Series => make(Metric.histogram(prefix + name, buckets, description), ...labels)
