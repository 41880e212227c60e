/**
 * The service's settings, read from the environment and the files that it names. `docs/configuration.md` describes every
 * variable.
 */
import { readFile, stat } from "node:fs/promises"
import { isIP } from "node:net"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { distance } from "fastest-levenshtein"
import type { Logo, Platform } from "@startlist/core/Platform"
import * as Policy from "@startlist/core/Policy"
import type { PasswordLimits } from "@startlist/pages/SignInLimit"
import * as Otlp from "./Otlp.ts"
import * as Setting from "./Setting.ts"
import { contradiction, type Given, type Role, settings } from "./Settings.ts"

/** The service cannot start. The message is one line that names the variable. */
export class InvalidConfiguration
  extends Schema.TaggedError<InvalidConfiguration>()("@startlist/node/InvalidConfiguration", {
    message: Schema.String
  })
{}

/** Every setting, decoded. */
export interface Configuration {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Public origins. Default: the address on which the service listens. */
  readonly authUrl: Option.Option<string>
  readonly baseUrl: Option.Option<string>
  /** A `postgres://` URL. Default: the embedded database in `dataDir`. */
  readonly databaseUrl: Option.Option<Redacted.Redacted<string>>
  /** Maximum number of connections of a process to PostgreSQL. */
  readonly databaseConnections: number
  /** Whether connections keep settings and prepared statements. False behind a pooler in transaction mode. */
  readonly preparedStatements: boolean
  readonly dataDir: string
  readonly operatorToken: Option.Option<Redacted.Redacted<string>>
  /** Each 32 bytes in base64; the first seals. */
  readonly masterKeys: Option.Option<Setting.MasterKeys>
  readonly policy: Policy.Policy.Service
  readonly platform: Platform.Service
  /** CIDRs that callbacks may reach besides the public internet. */
  readonly callbackAllow: ReadonlyArray<string>
  readonly roles: ReadonlySet<Role>
  /** Number of processes that serve requests. A single one also delivers; with several, one more process delivers. */
  readonly processes: number
  /** Maximum number of open connections. */
  readonly maxConnections: number
  /** Maximum number of requests that are being processed. */
  readonly maxRequests: number
  /** Whether requests to callbacks have a `traceparent` header, which shows receivers that they are traced. */
  readonly callbackTraceparent: boolean
  readonly loginLimits: PasswordLimits.Service
  /** CIDRs of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: ReadonlyArray<string>
  /** Minimum age at which audit entries are removed. */
  readonly auditRetention: Duration.Duration
  /** How long requests are still accepted after the stop signal, while `/readyz` fails and the load balancer reacts. */
  readonly drainDelay: Duration.Duration
  readonly logFormat: "pretty" | "json"
  readonly logLevel: LogLevel.LogLevel
  /** Whether each request is logged at `info`. At `debug` it always is. */
  readonly logRequests: boolean
  /** Name of this installation, used as a label of its metrics. The same on every node. */
  readonly installation: Option.Option<string>
  /** Export of traces and metrics. */
  readonly otlp: Otlp.Otlp
}

/** Whether only this machine can reach the host. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))

/** Host of a URL, without the brackets of an IPv6 address. */
export const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, "")

/** Addresses that browsers and applications use. Without `AUTH_URL`, the address on which the service listens. */
export const publicUrls = (
  { authUrl, baseUrl }: Pick<Configuration, "authUrl" | "baseUrl">,
  listening: string
): { readonly authUrl: string; readonly baseUrl: string } => ({
  authUrl: Option.getOrElse(authUrl, () => listening),
  baseUrl: Option.getOrElse(Option.orElse(baseUrl, () => authUrl), () => listening)
})

/** Whether the service can be reached only from this machine. */
export const isLocal = (given: Pick<Configuration, "authUrl" | "baseUrl" | "host" | "port">): boolean =>
  Object.values(publicUrls(given, origin(given.host, given.port))).every((url) => isLoopback(hostOf(url)))

/** `http://HOST:PORT`, with the brackets that an IPv6 address needs. */
export const origin = (host: string, port: number): string => `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`

/** Secrets that container platforms provide as files: `DATABASE_URL_FILE` names the file of `DATABASE_URL`. */
const secrets = ["DATABASE_URL", "MASTER_KEY", "OPERATOR_TOKEN"] as const

/** The variables that name files of secrets. */
const fileSettings: ReadonlyArray<Setting.Setting<unknown>> = secrets.map((name) =>
  Setting.optional(
    `${name}_FILE`,
    Setting.path,
    "none",
    `A file with the secret, instead of \`${name}\`. One newline at its end is ignored. If the file is empty or cannot be read, the start stops.`
  )
)

/** The rows of the tables in `docs/configuration.md`: the settings of the service, and those of OpenTelemetry. */
export const tables: ReadonlyArray<ReadonlyArray<Setting.Setting<unknown>>> = [
  [...Object.values(settings), ...fileSettings],
  Object.values(Otlp.settings)
]

const names = new Set(tables.flat().map(({ name }) => name))

/** Maximum edit distance. Short names are near to many others: HOME is not HOST. */
const tolerance = (name: string): number => name.length > 6 ? 2 : 1

/** A misspelt variable stops the start: otherwise nobody would notice that the setting has no effect. */
const misspelling = (variables: Iterable<string>): Option.Option<string> => {
  const given = new Set(variables)
  const open = [...names].filter((name) => !given.has(name))
  for (const name of [...given].filter((name) => !names.has(name)).sort()) {
    const meant = open.find((setting) => distance(name.toUpperCase(), setting) <= tolerance(setting))
    if (meant !== undefined) {
      return Option.some(`${name}: there is no such setting. If you mean ${meant}, rename it; otherwise remove it.`)
    }
  }
  return Option.none()
}

/** The code of an error of the file system. */
const whyNot = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "it is not readable"

/** Reads a secret without the newline at its end, which editors and `echo` add. */
const readSecret = (variable: string, path: string): Effect.Effect<string, string> =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (error) => `${variable}: the file ${path} cannot be read (${whyNot(error)})`
  }).pipe(
    Effect.map((text) => text.replace(/\r?\n$/, "")),
    Effect.filterOrFail((text) => text.trim() !== "", () => `${variable}: the file ${path} is empty`)
  )

/** Replaces the name of each file by its content. Fails if a secret is set twice, or a file is missing or empty. */
const readFiles = (
  variables: ReadonlyMap<string, string>
): Effect.Effect<ReadonlyMap<string, string>, string> =>
  Effect.gen(function*() {
    const resolved = new Map(variables)
    for (const name of secrets) {
      const variable = `${name}_FILE`
      const path = variables.get(variable)
      if (path === undefined) continue
      if (variables.has(name)) return yield* Effect.fail(`${variable}: ${name} is set too. Remove one of them.`)
      resolved.set(name, yield* readSecret(variable, path))
    }
    return resolved
  })

/** Maximum size of the logo, which every new visitor loads. */
const maxLogoBytes = 100 * 1024

/** The first bytes of each type of image, as Latin-1. They decide the type, not the name of the file. */
const signatures: ReadonlyArray<readonly [type: string, signature: RegExp]> = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["image/svg+xml", /^(?:\xef\xbb\xbf)?\s*<(?:\?xml|!--|!DOCTYPE svg|svg)[^]*<svg|^(?:\xef\xbb\xbf)?\s*<svg/i]
]

/** Reads the platform's logo. The failure is one line that names the variable. */
const readLogo = (path: string): Effect.Effect<Logo, string> => {
  const refuse = (problem: string) => Effect.fail(`PLATFORM_LOGO: the file ${path} ${problem}`)
  const attempt = <A>(read: () => Promise<A>) =>
    Effect.tryPromise({
      try: read,
      catch: (error) => `PLATFORM_LOGO: the file ${path} cannot be read (${whyNot(error)})`
    })
  return Effect.gen(function*() {
    const { size } = yield* attempt(() => stat(path))
    if (size > maxLogoBytes) return yield* refuse(`has ${size} bytes. Use an image of at most ${maxLogoBytes} bytes.`)
    const content = new Uint8Array(yield* attempt(() => readFile(path)))
    const text = Buffer.from(content).toString("latin1")
    const [type] = signatures.find(([, signature]) => signature.test(text)) ?? []
    return type === undefined
      ? yield* refuse("is not an image. Use an SVG, PNG, JPEG or WebP file.")
      : { type, content }
  })
}

const presets = { documented: Policy.documented, rfc: Policy.rfc }

const toConfiguration = (
  given: Given,
  logo: Option.Option<Logo>,
  isTerminal: boolean
): Configuration => ({
  ...given,
  platform: {
    name: given.platformName,
    logo,
    color: given.platformColor,
    support: given.platformSupport,
    privacyPolicy: given.platformPrivacyPolicy,
    guide: given.platformGuide
  },
  installation: Option.orElse(given.installation, () => Option.map(given.authUrl, (url) => new URL(url).host)),
  policy: {
    ...presets[given.profile],
    replay: Option.getOrElse(given.replay, () => presets[given.profile].replay),
    scopes: given.scopes,
    defaultScope: Option.getOrElse(given.defaultScope, () => []),
    webhookScope: given.webhookScope,
    accessTokenLifetime: given.accessTokenLifetime,
    refreshTokenIdle: given.refreshTokenIdle,
    codeLifetime: given.codeLifetime,
    secretOverlap: given.secretOverlap,
    callbackTimeout: given.callbackTimeout,
    deliveryRetention: given.deliveryRetention,
    refreshRetryWithoutKey: given.refreshRetry,
    deliveryDelays: given.deliveryDelays,
    deliveryConcurrency: given.deliveryConcurrency,
    deliveryPerSubscription: Option.getOrElse(
      given.deliveryPerSubscription,
      () => Math.min(Policy.documented.deliveryPerSubscription, given.deliveryConcurrency)
    )
  },
  loginLimits: {
    perAccountAndNetwork: { count: given.signInFailures, window: Duration.minutes(5) },
    perNetwork: { count: given.signInFailuresPerNetwork, window: Duration.minutes(5) },
    perAccount: { count: given.signInFailuresPerAccount, window: Duration.minutes(15) }
  },
  trustedProxies: Option.getOrElse(given.trustedProxies, () => []),
  callbackAllow: Option.getOrElse(
    given.callbackAllow,
    () => isLocal(given) ? ["127.0.0.0/8", "::1/128"] : []
  ),
  logFormat: Option.getOrElse(given.logFormat, () => isTerminal ? "pretty" as const : "json" as const)
})

/** The variables that have a value: an empty one counts as unset. */
const nonEmpty = (environment: Readonly<Record<string, string | undefined>>): Map<string, string> =>
  new Map(
    Object.entries(environment).flatMap(([name, value]): ReadonlyArray<readonly [string, string]> =>
      value === undefined || value.trim() === "" ? [] : [[name, value.trim()]]
    )
  )

/**
 * Decodes an environment and reads the files of `…_FILE`. `isTerminal`: whether a person reads the log. Fails with the
 * first wrong, contradictory or misspelt setting; the message names it and contains no secret.
 */
export const decode = (
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean
): Effect.Effect<Configuration, InvalidConfiguration> => {
  const set = nonEmpty(environment)
  const refuseIf = Option.match({ onNone: () => Effect.void, onSome: (message: string) => Effect.fail(message) })
  return Effect.gen(function*() {
    yield* refuseIf(misspelling(set.keys()))
    const resolved = yield* readFiles(set)
    const own = yield* Setting.decodeAll(settings, resolved)
    const given = { ...own, otlp: Otlp.combine(yield* Setting.decodeAll(Otlp.settings, resolved)) }
    yield* refuseIf(contradiction(given))
    const logo = yield* Effect.transposeOption(Option.map(given.platformLogo, readLogo))
    return toConfiguration(given, logo, isTerminal)
  }).pipe(Effect.mapError((message) => new InvalidConfiguration({ message })))
}

/** Decodes the environment of this process. */
export const current: Effect.Effect<Configuration, InvalidConfiguration> = Effect.suspend(() =>
  decode(process.env, process.stdout.isTTY === true)
)
