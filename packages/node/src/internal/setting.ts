/** One decoder per kind of setting. Messages say what is wrong and what is expected, and never quote a secret. */
import { isIP } from "node:net"
import * as ServerUrl from "@startlist/postgres/ServerUrl"
import * as Arr from "effect/Array"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as MasterKey from "@startlist/core/MasterKey"
import { Line } from "@startlist/core/Store"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"

const quoted = (value: string): string => JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)

/** A variable that `parse` decodes. `undefined` means that the value is not what is `expected`. */
export const setting = <A>(
  name: string,
  expected: string,
  parse: (value: string) => A | undefined,
  show: (value: string) => string = quoted
): Config.Config<A> =>
  Config.string(name).pipe(Config.mapOrFail((value) => {
    const parsed = parse(value)
    return parsed === undefined
      ? Either.left(ConfigError.InvalidData([], `${show(value)} is not ${expected}`))
      : Either.right(parsed)
  }))

/** Shown in place of a value that may be a secret. */
export const hidden = (): string => "the value"

/** A comma-separated list of parsed items. Empty items are ignored. */
const listOf = <A>(parse: (item: string) => A | undefined) => (value: string): ReadonlyArray<A> | undefined => {
  const items = value.split(",").map((item) => item.trim()).filter((item) => item !== "").map(parse)
  const good = items.filter((item) => item !== undefined)
  return good.length === items.length && items.length > 0 ? good : undefined
}

const parseUrl = (value: string): URL | undefined => URL.canParse(value) ? new URL(value) : undefined

export const integer = (name: string, minimum: number, maximum: number): Config.Config<number> =>
  setting(name, `a whole number from ${minimum} to ${maximum}`, (value) => {
    const parsed = /^\d{1,9}$/.test(value) ? Number(value) : -1
    return parsed >= minimum && parsed <= maximum ? parsed : undefined
  })

/** A number of at least 1, or `auto`. */
export const count = (name: string, maximum: number, auto: () => number): Config.Config<number> =>
  setting(name, `a whole number from 1 to ${maximum}, or auto`, (value) => {
    if (value === "auto") return Math.min(auto(), maximum)
    const parsed = /^\d{1,3}$/.test(value) ? Number(value) : 0
    return parsed >= 1 && parsed <= maximum ? parsed : undefined
  })

/** An address or name to listen on. */
export const host = (name: string): Config.Config<string> =>
  setting(
    name,
    "an IP address or a host name",
    (value) => isIP(value) !== 0 || /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(value) ? value : undefined
  )

/** A name that people read. */
export const label = (name: string): Config.Config<string> =>
  setting(
    name,
    "a name of one line, of at most 100 characters",
    (value) => value.length <= 100 && Schema.is(Line)(value) ? value : undefined
  )

/** `https://host[:port]`, decoded without a trailing slash. */
export const publicOrigin = (name: string): Config.Config<string> =>
  setting(name, "an origin such as https://auth.example.org", (value) => {
    const url = parseUrl(value)
    return url !== undefined && /^https?:$/.test(url.protocol) && (`${url.origin}/` === url.href) &&
        !value.includes("?") && !value.includes("#")
      ? url.origin
      : undefined
  })

export const endpoint = (name: string): Config.Config<string> =>
  setting(name, "an http or https URL", (value) => {
    const url = parseUrl(value)
    return url !== undefined && /^https?:$/.test(url.protocol) ? value : undefined
  })

/** Never shown, because it contains a password. */
export const databaseUrl = (name: string): Config.Config<Redacted.Redacted<string>> =>
  setting(
    name,
    "a URL of the form postgres://user:password@host:port/database",
    (value) => ServerUrl.parse(value) === undefined ? undefined : Redacted.make(value),
    hidden
  )

/** Minimum length of an operator token: shorter ones can be guessed. */
export const minTokenLength = 32

/** A token that fits into an `Authorization: Bearer` header and is too long to guess. */
export const parseToken = (value: string): Redacted.Redacted<string> | undefined =>
  /^[!-~]+$/.test(value) && value.length >= minTokenLength ? Redacted.make(value) : undefined

export const bearerToken = (name: string): Config.Config<Redacted.Redacted<string>> =>
  setting(
    name,
    `a token of at least ${minTokenLength} visible ASCII characters without spaces (openssl rand -hex 32 makes one)`,
    parseToken,
    hidden
  )

/** 32 bytes as base64, standard or URL-safe. */
const parseKey = (value: string): Redacted.Redacted<string> | undefined =>
  Either.isRight(MasterKey.bytesOf(Redacted.make(value))) ? Redacted.make(value) : undefined

/** The present master key, then those that it has replaced. */
export type MasterKeys = Arr.NonEmptyReadonlyArray<Redacted.Redacted<string>>

/** One key, or several separated by commas. */
export const parseKeys = (value: string): MasterKeys | undefined => {
  const parsed = listOf(parseKey)(value)
  return parsed !== undefined && Arr.isNonEmptyReadonlyArray(parsed) ? parsed : undefined
}

export const keys = (name: string): Config.Config<MasterKeys> =>
  setting(
    name,
    "32 bytes in base64 (openssl rand -base64 32 makes one), or several such keys separated by commas",
    parseKeys,
    hidden
  )

const isOneOf = <A extends string>(values: ReadonlyArray<A>) => (value: string): A | undefined =>
  values.find((candidate) => candidate === value.toLowerCase())

export const oneOf = <const A extends string>(name: string, values: ReadonlyArray<A>): Config.Config<A> =>
  setting(name, `one of ${values.join(", ")}`, isOneOf(values))

export const roles = (name: string): Config.Config<ReadonlySet<"api" | "worker">> =>
  setting(name, "a comma-separated list of api and worker", (value) => {
    const parsed = listOf(isOneOf<"api" | "worker">(["api", "worker"]))(value)
    return parsed === undefined ? undefined : new Set(parsed)
  })

/** A scope name (RFC 6749 §3.3): no spaces, quotes or backslashes. */
const parseScope = (value: string): string | undefined => /^[!#-[\]-~]+$/.test(value) ? value : undefined

export const scope = (name: string): Config.Config<string> =>
  setting(name, "one scope name without spaces, quotes and backslashes", parseScope)

/** Scope names, each once. */
export const scopes = (name: string): Config.Config<ReadonlyArray<string>> =>
  setting(name, "a comma-separated list of scope names, each once", (value) => {
    const parsed = listOf(parseScope)(value)
    return parsed !== undefined && new Set(parsed).size === parsed.length ? parsed : undefined
  })

const parseCidr = (value: string): string | undefined => Option.isSome(parseBlock(value)) ? value : undefined

export const cidrs = (name: string): Config.Config<ReadonlyArray<string>> =>
  setting(name, "a comma-separated list of address ranges such as 10.0.0.0/8 or fd00::/8", listOf(parseCidr))

const unitMillis: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Units as words: `8 hours`, `1 day`. */
const unitWords: Readonly<Record<string, string>> = {
  millisecond: "ms",
  second: "s",
  minute: "m",
  hour: "h",
  day: "d"
}

/** A duration within limits, such as `5s`, `90d`, `8 hours` or `0`. */
export const duration = (
  name: string,
  shortest: Duration.DurationInput,
  longest: Duration.DurationInput,
  expected: string
): Config.Config<Duration.Duration> =>
  setting(name, expected, (value) => {
    const parsed = parseDuration(value)
    return parsed !== undefined && Duration.between(parsed, { minimum: shortest, maximum: longest })
      ? parsed
      : undefined
  })

/** A switch: `on` or `true`, `off` or `false`. */
export const flag = (name: string): Config.Config<boolean> =>
  oneOf(name, ["on", "off", "true", "false"]).pipe(Config.map((value) => value === "on" || value === "true"))

const longestDelay = Duration.days(7)

const parseDuration = (value: string): Duration.Duration | undefined => {
  if (value === "0") return Duration.zero
  const [, amount = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?) ?([a-z]{1,12})$/.exec(value) ?? []
  const millis = unitMillis[unitWords[unit.replace(/s$/, "")] ?? unit]
  return millis === undefined ? undefined : Duration.millis(Number(amount) * millis)
}

/** At most 19 pauses of at most 7 days: 20 attempts. */
export const durations = (name: string): Config.Config<ReadonlyArray<Duration.Duration>> =>
  setting(name, "a comma-separated list of at most 19 pauses such as 5s, 1m or 2h, none longer than 7d", (value) => {
    const parsed = listOf(parseDuration)(value)
    const isGood = parsed !== undefined && parsed.length <= 19 &&
      parsed.every((pause) => Duration.lessThanOrEqualTo(pause, longestDelay))
    return isGood ? parsed : undefined
  })

const levels = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None
} as const

export const logLevel = (name: string): Config.Config<LogLevel.LogLevel> =>
  oneOf(name, ["trace", "debug", "info", "warning", "error", "none"]).pipe(
    Config.withDefault("info" as const),
    Config.map((level) => levels[level])
  )
