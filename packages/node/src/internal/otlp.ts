/** The variables of OpenTelemetry that this service reads: endpoints, headers, resource attributes and sampling. */
import * as Config from "effect/Config"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Setting from "./setting.ts"

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
const parsePairs = (name: RegExp, value: RegExp) => (text: string): Pairs | undefined => {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "").map((pair) => {
    const at = pair.indexOf("=")
    return [pair.slice(0, Math.max(0, at)).trim(), decoded(pair.slice(at + 1))] as const
  })
  const good = pairs.flatMap(([key, text]) =>
    name.test(key) && text !== undefined && value.test(text) ? [[key, text] as const] : []
  )
  return good.length === pairs.length && good.length > 0 ? Object.fromEntries(good) : undefined
}

const parseHeaders = parsePairs(/^[\w!#$%&'*+.^`|~-]+$/, /^[\t\x20-\x7e]*$/)

const headers = (name: string): Config.Config<Option.Option<Redacted.Redacted<Pairs>>> =>
  Config.option(
    Setting.setting(
      name,
      "a list of headers such as api-key=abc,tenant=7, with values in percent-encoding",
      (value) => {
        const pairs = parseHeaders(value)
        return pairs === undefined ? undefined : Redacted.make(pairs)
      },
      Setting.hidden
    )
  )

const attributes = Setting.setting(
  "OTEL_RESOURCE_ATTRIBUTES",
  "a list of attributes such as deployment.environment=staging,team=a, with values in percent-encoding",
  parsePairs(/^[^\s,;=]+$/, /^[^\p{Cc}]*$/u)
)

/** The variables of one signal. With an empty name, the defaults of both signals. */
const variablesOf = (signal: "" | "TRACES_" | "METRICS_") =>
  Config.all({
    endpoint: Config.option(Setting.endpoint(`OTEL_EXPORTER_OTLP_${signal}ENDPOINT`)),
    headers: headers(`OTEL_EXPORTER_OTLP_${signal}HEADERS`),
    protocol: Config.option(
      Setting.oneOf(`OTEL_EXPORTER_OTLP_${signal}PROTOCOL`, ["http/json", "http/protobuf"])
    )
  })

const sampler = Setting.setting(
  "OTEL_TRACES_SAMPLER",
  "always_on, always_off or traceidratio, alone or behind parentbased_",
  (value) => {
    const [, parent, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(value) ?? []
    return kind === undefined ? undefined : { followsCaller: parent !== undefined, kind }
  }
)

const exporter = (name: string): Config.Config<boolean> =>
  Setting.oneOf(name, ["otlp", "none"]).pipe(Config.withDefault("otlp"), Config.map((value) => value === "otlp"))

/** All variables, decoded. A signal is exported if it has an endpoint and is not switched off. */
export const otlp: Config.Config<Otlp> = Config.all({
  // Not a flag: the OpenTelemetry specification forbids other values for true.
  isDisabled: Setting.oneOf("OTEL_SDK_DISABLED", ["true", "false"]).pipe(
    Config.withDefault("false"),
    Config.map((value) => value === "true")
  ),
  isTracing: exporter("OTEL_TRACES_EXPORTER"),
  isMeasuring: exporter("OTEL_METRICS_EXPORTER"),
  both: variablesOf(""),
  traces: variablesOf("TRACES_"),
  metrics: variablesOf("METRICS_"),
  attributes: attributes.pipe(Config.withDefault<Pairs>({})),
  serviceName: Config.option(Setting.label("OTEL_SERVICE_NAME")),
  sampler: sampler.pipe(Config.withDefault({ followsCaller: true, kind: "always_on" })),
  ratio: Setting.setting("OTEL_TRACES_SAMPLER_ARG", "a number from 0 to 1", (value) => {
    const ratio = Number(value)
    return ratio >= 0 && ratio <= 1 ? ratio : undefined
  }).pipe(Config.withDefault(1))
}).pipe(
  Config.map(
    ({ attributes, both, isDisabled, isMeasuring, isTracing, metrics, ratio, sampler, serviceName, traces }) => {
      const signal = (own: typeof both, path: string, isOn: boolean): Option.Option<Signal> =>
        Option.map(
          // The endpoint of both signals is a base URL; that of one signal is complete (OTLP exporter specification).
          Option.orElse(
            own.endpoint,
            () => Option.map(both.endpoint, (base) => base.replace(/(?<!\/)\/+$/, "") + path)
          ),
          (url): Signal => ({
            url,
            headers: Option.getOrElse(Option.orElse(own.headers, () => both.headers), () => Redacted.make({})),
            protocol: Option.getOrElse(Option.orElse(own.protocol, () => both.protocol), () => "http/json" as const)
          })
        ).pipe(Option.filter(() => isOn && !isDisabled))
      const { followsCaller, kind } = sampler
      return {
        traces: signal(traces, "/v1/traces", isTracing),
        metrics: signal(metrics, "/v1/metrics", isMeasuring),
        sampler: { followsCaller, ratio: kind === "always_on" ? 1 : kind === "always_off" ? 0 : ratio },
        attributes: {
          "service.name": "startlist",
          ...attributes,
          ...Option.match(serviceName, { onNone: () => ({}), onSome: (name) => ({ "service.name": name }) })
        }
      }
    }
  )
)
