/** The variables of OpenTelemetry that this service reads: endpoints, headers, resource attributes and sampling. */
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Setting from "./Setting.ts"

type Pairs = Readonly<Record<string, string>>

/** Destination of one signal: traces or metrics. */
export interface Signal {
  readonly url: string
  /** Usually the API key of a collector. */
  readonly headers: Redacted.Redacted<Pairs>
  readonly protocol: "http/json" | "http/protobuf"
}

/** Which requests are traced. */
export interface Sampler {
  /** Whether to follow the decision of a caller that names its trace. */
  readonly followsCaller: boolean
  /** Share of the other requests, from 0 to 1. */
  readonly ratio: number
}

/** The exported signals, and their destinations. */
export interface Otlp {
  readonly traces: Option.Option<Signal>
  readonly metrics: Option.Option<Signal>
  readonly sampler: Sampler
  /** Resource attributes, `service.name` included. */
  readonly attributes: Pairs
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return undefined
  }
}

/** `name=value,name=value`, the values percent-encoded (W3C Baggage). */
const readPairs = (name: RegExp, value: RegExp) => (text: string): Pairs | undefined => {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "").map((pair) => {
    const at = pair.indexOf("=")
    return [pair.slice(0, Math.max(0, at)).trim(), decoded(pair.slice(at + 1))] as const
  })
  const good = pairs.flatMap(([key, text]) =>
    name.test(key) && text !== undefined && value.test(text) ? [[key, text] as const] : []
  )
  return good.length === pairs.length && good.length > 0 ? Object.fromEntries(good) : undefined
}

const readHeaders = readPairs(/^[\w!#$%&'*+.^`|~-]+$/, /^[\t\x20-\x7e]*$/)

const headers = Setting.secret(
  "a list of headers such as api-key=abc,tenant=7, with values in percent-encoding",
  (text) => {
    const pairs = readHeaders(text)
    return pairs === undefined ? undefined : Redacted.make(pairs)
  }
)

const attributes: Setting.Kind<Pairs> = {
  expected: "a list of attributes such as deployment.environment=staging,team=a, with values in percent-encoding",
  read: readPairs(/^[^\s,;=]+$/, /^[^\p{Cc}]*$/u),
  write: (pairs) => Object.entries(pairs).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join(","),
  isSecret: false
}

interface SamplerName {
  readonly followsCaller: boolean
  readonly name: string
}

const sampler: Setting.Kind<SamplerName> = {
  expected: "always_on, always_off or traceidratio, alone or behind parentbased_",
  read: (text) => {
    const [, parent, name] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(text) ?? []
    return name === undefined ? undefined : { followsCaller: parent !== undefined, name }
  },
  write: ({ followsCaller, name }) => `${followsCaller ? "parentbased_" : ""}${name}`,
  isSecret: false
}

const exporter = Setting.oneOf("otlp", "none")

const protocol = Setting.oneOf("http/json", "http/protobuf")

/** The variables of one signal. */
const signal = (name: "TRACES" | "METRICS") => {
  const [prefix, both, word] = [`OTEL_EXPORTER_OTLP_${name}_`, "OTEL_EXPORTER_OTLP_", name.toLowerCase()]
  return {
    exporter: Setting.setting(`OTEL_${name}_EXPORTER`, exporter, "otlp", `\`none\`: ${word} are not exported.`),
    endpoint: Setting.optional(
      `${prefix}ENDPOINT`,
      Setting.endpoint,
      `\`/v1/${word}\` below \`${both}ENDPOINT\``,
      `The whole URL for ${word}.`
    ),
    headers: Setting.optional(`${prefix}HEADERS`, headers, `\`${both}HEADERS\``, `Headers of each export of ${word}.`),
    protocol: Setting.optional(`${prefix}PROTOCOL`, protocol, `\`${both}PROTOCOL\``, `The encoding of ${word}.`)
  }
}

const [traces, metrics] = [signal("TRACES"), signal("METRICS")]

/** The table of these variables. */
export const settings = {
  endpoint: Setting.optional(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    Setting.endpoint,
    "none",
    "The collector for traces and metrics by OTLP over HTTP, such as `http://collector:4318`."
  ),
  headers: Setting.optional(
    "OTEL_EXPORTER_OTLP_HEADERS",
    headers,
    "none",
    "Headers of each export, such as the key of an API."
  ),
  protocol: Setting.setting(
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    protocol,
    "http/json",
    "The encoding of traces and metrics."
  ),
  tracesExporter: traces.exporter,
  tracesEndpoint: traces.endpoint,
  tracesHeaders: traces.headers,
  tracesProtocol: traces.protocol,
  metricsExporter: metrics.exporter,
  metricsEndpoint: metrics.endpoint,
  metricsHeaders: metrics.headers,
  metricsProtocol: metrics.protocol,
  // Not a flag: the OpenTelemetry specification forbids other values for true.
  isDisabled: Setting.setting(
    "OTEL_SDK_DISABLED",
    Setting.oneOf("true", "false"),
    "false",
    "`true`: nothing is exported."
  ),
  serviceName: Setting.optional(
    "OTEL_SERVICE_NAME",
    Setting.label,
    "`startlist`",
    "The attribute `service.name`. It takes precedence over `OTEL_RESOURCE_ATTRIBUTES`."
  ),
  attributes: Setting.optional(
    "OTEL_RESOURCE_ATTRIBUTES",
    attributes,
    "none",
    "Attributes of the service. `service.version`, `service.instance.id` and `service.namespace` (the installation) are set unless you set them here."
  ),
  sampler: Setting.setting(
    "OTEL_TRACES_SAMPLER",
    sampler,
    { followsCaller: true, name: "always_on" },
    "Which requests are traced. With the prefix `parentbased_`, a caller that names its trace decides."
  ),
  ratio: Setting.setting(
    "OTEL_TRACES_SAMPLER_ARG",
    Setting.share,
    1,
    "The share of requests that `traceidratio` traces."
  )
}

/** Combines the variables. A signal is exported if it has an endpoint and is not switched off. */
export const combine = (given: Setting.Values<typeof settings>): Otlp => {
  const signal = (name: "traces" | "metrics"): Option.Option<Signal> => {
    const isOn = given.isDisabled === "false" && given[`${name}Exporter` as const] === "otlp"
    // The endpoint of both signals is a base URL; that of one signal is complete (OTLP exporter specification).
    const common = Option.map(given.endpoint, (base) => `${base.replace(/(?<!\/)\/+$/, "")}/v1/${name}`)
    return Option.orElse(given[`${name}Endpoint` as const], () => common).pipe(
      Option.filter(() => isOn),
      Option.map((url) => ({
        url,
        headers: Option.getOrElse(
          Option.orElse(given[`${name}Headers` as const], () => given.headers),
          () => Redacted.make({})
        ),
        protocol: Option.getOrElse(given[`${name}Protocol` as const], () => given.protocol)
      }))
    )
  }
  const { followsCaller, name } = given.sampler
  return {
    traces: signal("traces"),
    metrics: signal("metrics"),
    sampler: { followsCaller, ratio: name === "always_on" ? 1 : name === "always_off" ? 0 : given.ratio },
    attributes: {
      "service.name": "startlist",
      ...Option.getOrElse(given.attributes, () => ({})),
      ...Option.match(given.serviceName, { onNone: () => ({}), onSome: (name) => ({ "service.name": name }) })
    }
  }
}
