/** Prometheus' text exposition format: Effect's metrics in it, and the pages of several processes merged. */
import type * as MetricPair from "effect/MetricPair"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"

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
