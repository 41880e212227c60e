/** The service's settings, read from the environment. `docs/configuration.md` describes every variable. */
import { isIP } from "node:net"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Logo, Platform } from "@startlist/core/Platform"
import * as Policy from "@startlist/core/Policy"
import type { PasswordLimits } from "@startlist/pages/SignInLimit"
import * as Environment from "./Environment.ts"
import * as Otlp from "./Otlp.ts"
import * as Setting from "./Setting.ts"
import { readLogo } from "./PlatformLogo.ts"
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
const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, "")

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

/** The rows of the tables in `docs/configuration.md`: the settings of the service, and those of OpenTelemetry. */
export const tables: ReadonlyArray<ReadonlyArray<Setting.Setting<unknown>>> = [
  [...Object.values(settings), ...Environment.fileSettings],
  Object.values(Otlp.settings)
]

const names = new Set(tables.flat().map(({ name }) => name))

/** A misspelt variable stops the start: otherwise nobody would notice that the setting has no effect. */
const misspelling = (variables: Iterable<string>): Option.Option<string> =>
  Option.map(
    Arr.head(Environment.findMisspelt(variables, names)),
    ({ given, meant }) => `${given}: there is no such setting. If you mean ${meant}, rename it; otherwise remove it.`
  )

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
  const refuse = (message: string) => new InvalidConfiguration({ message })
  return Effect.gen(function*() {
    yield* Option.match(misspelling(set.keys()), { onNone: () => Effect.void, onSome: refuse })
    const resolved = yield* Effect.mapError(Environment.readFiles(set), refuse)
    const own = yield* Effect.mapError(Setting.decodeAll(settings, resolved), refuse)
    const otlp = yield* Effect.mapError(Setting.decodeAll(Otlp.settings, resolved), refuse)
    const given = { ...own, otlp: Otlp.combine(otlp) }
    yield* Option.match(contradiction(given), { onNone: () => Effect.void, onSome: refuse })
    const logo = yield* Effect.mapError(
      Effect.transposeOption(Option.map(given.platformLogo, readLogo)),
      refuse
    )
    return toConfiguration(given, logo, isTerminal)
  })
}

/** Decodes the environment of this process. */
export const current: Effect.Effect<Configuration, InvalidConfiguration> = Effect.suspend(() =>
  decode(process.env, process.stdout.isTTY === true)
)
