/**
 * Metrics in Prometheus' terms: series by the values of labels, which are updated without a fiber and recorded with
 * Effect's metrics, their text exposition format, and the pages of several processes merged.
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import type * as MetricPair from "effect/MetricPair"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"

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

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\"", "\\\"")

type Labels = ReadonlyArray<readonly [name: string, value: string]>

const line = (name: string, labels: Labels, value: number | bigint): string => {
  const set = labels.map(([label, text]) => `${label}="${escaped(text)}"`).join(",")
  return `${name}${set === "" ? "" : `{${set}}`} ${value}`
}

/** Effect's last bucket is unlimited too. */
const limit = (boundary: number): string => boundary === Infinity ? "+Inf" : String(boundary)

interface Family {
  readonly type: "counter" | "gauge" | "histogram"
  readonly lines: ReadonlyArray<string>
}

const toFamily = (name: string, labels: Labels, state: MetricPair.MetricPair.Untyped["metricState"]) => {
  const family = (type: Family["type"], lines: ReadonlyArray<string>): Option.Option<Family> =>
    Option.some({ type, lines })
  if (MetricState.isCounterState(state)) return family("counter", [line(name, labels, state.count)])
  if (MetricState.isGaugeState(state)) return family("gauge", [line(name, labels, state.value)])
  if (!MetricState.isHistogramState(state)) return Option.none()
  return family("histogram", [
    ...state.buckets.map(([boundary, count]) => line(`${name}_bucket`, [...labels, ["le", limit(boundary)]], count)),
    line(`${name}_sum`, labels, state.sum),
    line(`${name}_count`, labels, state.count)
  ])
}

/** Renders metrics whose names begin with `prefix`. Every series also has the `common` labels. */
export const render = (
  snapshot: ReadonlyArray<MetricPair.MetricPair.Untyped>,
  prefix: string,
  common: Readonly<Record<string, string>> = {}
): string => {
  const shared = Object.entries(common)
  const families = new Map<string, { readonly head: string; readonly lines: Array<string> }>()
  for (const { metricKey, metricState } of snapshot) {
    const { description, name, tags } = metricKey
    if (!name.startsWith(prefix)) continue
    const family = toFamily(name, [...shared, ...tags.map(({ key, value }) => [key, value] as const)], metricState)
    if (Option.isNone(family)) continue
    const help = Option.getOrElse(description, () => name)
    const head = `# HELP ${name} ${help}\n# TYPE ${name} ${family.value.type}`
    const known = families.get(name) ?? { head, lines: [] }
    known.lines.push(...family.value.lines)
    families.set(name, known)
  }
  return [...families.values()].map(({ head, lines }) => `${head}\n${lines.join("\n")}\n`).join("")
}

const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/

/** One metric of a page: its `# HELP` and `# TYPE`, and its samples. */
interface ParsedFamily {
  readonly head: ReadonlyArray<string>
  readonly samples: Array<string>
}

/** Merges pages of Prometheus text. Each sample gets the label `process`, the name of its process. */
export const merge = (pages: ReadonlyArray<{ readonly process: string; readonly body: string }>): string => {
  const families = new Map<string, ParsedFamily>()
  for (const { body, process } of pages) {
    let family: ParsedFamily | undefined
    for (const text of body.split(/^(?=# HELP )/m)) {
      const lines = text.split("\n").filter((line) => line !== "")
      const [, name = ""] = /^# HELP (\S+)/.exec(text) ?? []
      family = families.get(name) ?? { head: lines.filter((line) => line.startsWith("#")), samples: [] }
      families.set(name, family)
      for (const line of lines) {
        const [, metric, labels, value] = sample.exec(line) ?? []
        if (metric === undefined) continue
        family.samples.push(`${metric}{process="${process}"${labels === undefined ? "" : `,${labels}`}} ${value}`)
      }
    }
  }
  return [...families.values()].flatMap(({ head, samples }) => [...head, ...samples, ""]).join("\n")
}
