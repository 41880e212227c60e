/**
 * A setting of the service: a variable, the kind of its values, its default, and its meaning. Not `Config` of Effect:
 * messages say what was expected, find misspelt names, and quote no secret.
 */
import { isIP } from "node:net"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import { identity } from "effect/Function"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import { map } from "effect/Record"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { keyBytes } from "@startlist/core/Secrets"
import { SingleLine } from "@startlist/core/Store"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import * as ServerUrl from "@startlist/postgres/ServerUrl"

/** The values that a setting can have. */
export interface Kind<A> {
  /** What a value is, in the documentation and in the message about another one: `a whole number from 2 to 1000`. */
  readonly expected: string
  /** The value of a text. `undefined` if the text is not what is `expected`. */
  readonly read: (text: string) => A | undefined
  /** The text of a value, for the documentation of a default. */
  readonly write: (value: A) => string
  /** Whether messages must not show a text. */
  readonly isSecret: boolean
}

/** One row of the table of settings, with `A` as the type of its value. */
export interface Setting<A> {
  /** Name of the variable. */
  readonly name: string
  readonly expected: string
  /** The default in the documentation, in Markdown. */
  readonly initially: string
  /** The meaning in the documentation, in Markdown. */
  readonly text: string
  /** The value of a variable that may be unset. The failure is one line without a secret. */
  readonly decode: (text: string | undefined) => Either.Either<A, string>
}

const shown = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)

const decodeAs = <A>({ expected, isSecret, read }: Kind<A>, text: string): Either.Either<A, string> => {
  const value = read(text)
  return value === undefined
    ? Either.left(`${isSecret ? "the value" : shown(text)} is not ${expected}`)
    : Either.right(value)
}

/** A setting with a default. */
export const setting = <A>(name: string, kind: Kind<A>, initial: A, text: string): Setting<A> => ({
  name,
  expected: kind.expected,
  initially: `\`${kind.write(initial)}\``,
  text,
  decode: (given) => given === undefined ? Either.right(initial) : decodeAs(kind, given)
})

/** A setting that may be unset. `initially` says what holds then. */
export const optional = <A>(
  name: string,
  kind: Kind<A>,
  initially: string,
  text: string
): Setting<Option.Option<A>> => ({
  name,
  expected: kind.expected,
  initially,
  text,
  decode: (given) => given === undefined ? Either.right(Option.none()) : Either.map(decodeAs(kind, given), Option.some)
})

/** A table of settings, by the names of their values. */
export type Table = Readonly<Record<string, Setting<unknown>>>

/** The values of a table of settings. */
export type Values<Of extends Table> = {
  readonly [Key in keyof Of]: Of[Key] extends Setting<infer A> ? A : never
}

/** Decodes all settings of a table. Fails with one line that begins with the name of the first wrong variable. */
export const decodeAll = <Of extends Table>(
  table: Of,
  variables: ReadonlyMap<string, string>
): Either.Either<Values<Of>, string> => {
  const values = Either.all(
    map<string, Setting<unknown>, Either.Either<unknown, string>>(
      table,
      ({ decode, name }) => Either.mapLeft(decode(variables.get(name)), (message) => `${name}: ${message}`)
    )
  )
  // `map` forgets that each key has the type of its own setting.
  return values as Either.Either<Values<Of>, string>
}

const kind = <A>(
  expected: string,
  read: (text: string) => A | undefined,
  write: (value: A) => string,
  isSecret: boolean = false
): Kind<A> => ({ expected, read, write, isSecret })

const text = (expected: string, isGood: (text: string) => boolean): Kind<string> =>
  kind(expected, (text) => isGood(text) ? text : undefined, identity)

/** Never shown, also not as a default. */
export const secret = <A>(expected: string, read: (text: string) => A | undefined): Kind<A> =>
  kind(expected, read, () => "", true)

/** A comma-separated list of items. Empty items are ignored. */
const listOf = <A>(read: (item: string) => A | undefined) => (list: string): ReadonlyArray<A> | undefined => {
  const items = list.split(",").map((item) => item.trim()).filter((item) => item !== "").map(read)
  const good = items.filter((item) => item !== undefined)
  return good.length === items.length && items.length > 0 ? good : undefined
}

const parseUrl = (value: string): URL | undefined => URL.canParse(value) ? new URL(value) : undefined

/** A number between these two, both included. */
export const integer = (minimum: number, maximum: number): Kind<number> =>
  kind(`a whole number from ${minimum} to ${maximum}`, (value) => {
    const parsed = /^\d{1,9}$/.test(value) ? Number(value) : -1
    return parsed >= minimum && parsed <= maximum ? parsed : undefined
  }, String)

/** A number of at least 1, or `auto`. */
export const count = (maximum: number, auto: () => number): Kind<number> =>
  kind(`a whole number from 1 to ${maximum}, or auto`, (value) => {
    if (value === "auto") return Math.min(auto(), maximum)
    const parsed = /^\d{1,3}$/.test(value) ? Number(value) : 0
    return parsed >= 1 && parsed <= maximum ? parsed : undefined
  }, String)

/** A share of a whole. */
export const share: Kind<number> = kind("a number from 0 to 1", (value) => {
  const parsed = Number(value)
  return parsed >= 0 && parsed <= 1 ? parsed : undefined
}, String)

/** An address or name to listen on. */
export const host: Kind<string> = text(
  "an IP address or a host name",
  (value) => isIP(value) !== 0 || /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(value)
)

/** The path of a file or a folder. */
export const path: Kind<string> = text("a path", () => true)

/** A name that people read. */
export const label: Kind<string> = text(
  "a name of one line, of at most 100 characters",
  (value) => value.length <= 100 && Schema.is(SingleLine)(value)
)

/** `https://host[:port]`, decoded without a trailing slash. */
export const publicOrigin: Kind<string> = kind("an origin such as https://auth.example.org", (value) => {
  const url = parseUrl(value)
  return url !== undefined && /^https?:$/.test(url.protocol) && (`${url.origin}/` === url.href) &&
      !value.includes("?") && !value.includes("#")
    ? url.origin
    : undefined
}, identity)

/** The address of another service. */
export const endpoint: Kind<string> = text("an http or https URL", (value) => {
  const url = parseUrl(value)
  return url !== undefined && /^https?:$/.test(url.protocol)
})

const isSecureUrl = (value: string): boolean => value.length <= 1000 && parseUrl(value)?.protocol === "https:"

/** A page for people. */
export const secureUrl: Kind<string> = text("an https URL", isSecureUrl)

/** A page or an e-mail address for people. */
export const contact: Kind<string> = text(
  "an https URL or mailto: with an e-mail address",
  (value) => isSecureUrl(value) || /^mailto:[^\s?@]+@[^\s?@]+$/.test(value)
)

/** A colour. */
export const color: Kind<string> = text("a colour such as #0b5cad", (value) => /^#[\da-f]{6}$/i.test(value))

/** Secret, because it contains a password. */
export const databaseUrl: Kind<Redacted.Redacted<string>> = secret(
  "a URL of the form postgres://user:password@host:port/database",
  (value) => ServerUrl.parse(value) === undefined ? undefined : Redacted.make(value)
)

/** Minimum length of an operator token: shorter ones can be guessed. */
const minTokenLength = 32

/** A token that fits into an `Authorization: Bearer` header and is too long to guess. */
export const bearerToken: Kind<Redacted.Redacted<string>> = secret(
  `a token of at least ${minTokenLength} visible ASCII characters without spaces (openssl rand -hex 32 makes one)`,
  (value) => /^[!-~]+$/.test(value) && value.length >= minTokenLength ? Redacted.make(value) : undefined
)

/** The present master key, then those that it has replaced. Each has 32 bytes, in base64, standard or URL-safe. */
export type MasterKeys = Arr.NonEmptyReadonlyArray<Redacted.Redacted<string>>

const readKeys = listOf((value) => Either.isRight(keyBytes(Redacted.make(value))) ? Redacted.make(value) : undefined)

/** One key, or several. */
export const masterKeys: Kind<MasterKeys> = secret(
  "32 bytes in base64 (openssl rand -base64 32 makes one), or several such keys separated by commas",
  (value) => {
    const keys = readKeys(value)
    return keys !== undefined && Arr.isNonEmptyReadonlyArray(keys) ? keys : undefined
  }
)

const isOneOf = <A extends string>(values: ReadonlyArray<A>) => (value: string): A | undefined =>
  values.find((candidate) => candidate === value.toLowerCase())

/** One of these words, in any case. */
export const oneOf = <const A extends string>(...values: ReadonlyArray<A>): Kind<A> =>
  kind(`one of ${values.join(", ")}`, isOneOf(values), identity)

/** A set of some of these words. */
export const someOf = <const A extends string>(...values: ReadonlyArray<A>): Kind<ReadonlySet<A>> =>
  kind<ReadonlySet<A>>(`a comma-separated list of ${values.join(" and ")}`, (value) => {
    const parsed = listOf(isOneOf(values))(value)
    return parsed === undefined ? undefined : new Set(parsed)
  }, (set) => [...set].join(","))

/** A switch. */
export const flag: Kind<boolean> = kind(
  "one of on, off, true, false",
  (value) => {
    const word = isOneOf(["on", "off", "true", "false"])(value)
    return word === undefined ? undefined : word === "on" || word === "true"
  },
  (isOn) => isOn ? "on" : "off"
)

/** A scope name (RFC 6749 §3.3). */
const isScope = (value: string): boolean => /^[!#-[\]-~]+$/.test(value)

/** A scope. */
export const scope: Kind<string> = text("one scope name without spaces, quotes and backslashes", isScope)

/** Scope names, each once. */
export const scopes: Kind<ReadonlyArray<string>> = kind(
  "a comma-separated list of scope names, each once",
  (value) => {
    const parsed = listOf(scope.read)(value)
    return parsed !== undefined && new Set(parsed).size === parsed.length ? parsed : undefined
  },
  (names) => names.join(",")
)

/** Address ranges. */
export const cidrs: Kind<ReadonlyArray<string>> = kind(
  "a comma-separated list of address ranges such as 10.0.0.0/8 or fd00::/8",
  listOf((value) => Option.isSome(parseBlock(value)) ? value : undefined),
  (ranges) => ranges.join(",")
)

const units: ReadonlyArray<readonly [short: string, word: string, millis: number]> = [
  ["d", "day", 86_400_000],
  ["h", "hour", 3_600_000],
  ["m", "minute", 60_000],
  ["s", "second", 1000],
  ["ms", "millisecond", 1]
]

/** A duration such as `5s`, `90d`, `8 hours` or `0`. */
const readDuration = (value: string): Duration.Duration | undefined => {
  if (value === "0") return Duration.zero
  const [, amount = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?) ?([a-z]{1,12})$/.exec(value) ?? []
  const known = units.find(([short, word]) => unit === short || unit.replace(/s$/, "") === word)
  return known === undefined ? undefined : Duration.millis(Number(amount) * known[2])
}

/** The largest unit of which the duration is a multiple. */
const writeDuration = (duration: Duration.Duration): string => {
  const millis = Duration.toMillis(duration)
  const [unit, , size] = millis === 0 ? ["s", "", 1] : units.find(([, , size]) => millis % size === 0) ?? ["ms", "", 1]
  return `${millis / size}${unit}`
}

/** A duration between these two, both included. */
export const duration = (minimum: Duration.DurationInput, maximum: Duration.DurationInput): Kind<Duration.Duration> => {
  const limits = [minimum, maximum].map((limit) => writeDuration(Duration.decode(limit)))
  return kind(`a period from ${limits.join(" to ")}`, (value) => {
    const parsed = readDuration(value)
    return parsed !== undefined && Duration.between(parsed, { minimum, maximum }) ? parsed : undefined
  }, writeDuration)
}

const longestDelay = Duration.days(7)

/** At most 19 pauses of at most 7 days: 20 attempts. */
export const durations: Kind<ReadonlyArray<Duration.Duration>> = kind(
  "a comma-separated list of at most 19 pauses such as 5s, 1m or 2h, none longer than 7d",
  (value) => {
    const parsed = listOf(readDuration)(value)
    const isGood = parsed !== undefined && parsed.length <= 19 &&
      parsed.every((pause) => Duration.lessThanOrEqualTo(pause, longestDelay))
    return isGood ? parsed : undefined
  },
  (pauses) => pauses.map(writeDuration).join(",")
)

const levels = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None
} as const

/** The least important level that is logged. */
export const logLevel: Kind<LogLevel.LogLevel> = kind(
  `one of ${Object.keys(levels).join(", ")}`,
  (value) => {
    const name = isOneOf(["trace", "debug", "info", "warning", "error", "none"])(value)
    return name === undefined ? undefined : levels[name]
  },
  ({ _tag }) => _tag.toLowerCase()
)
