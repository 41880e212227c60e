/** The service's settings, read from the environment. `docs/configuration.md` describes every variable. */
import { isIP } from "node:net"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Policy from "@startlist/core/Policy"
import { auditFloor } from "./AuditLog.ts"
import * as Misspelt from "./internal/misspelt.ts"
import * as Setting from "./internal/setting.ts"

/** Why the service does not start: one line that names the variable. */
export class InvalidConfiguration
  extends Schema.TaggedError<InvalidConfiguration>("@startlist/node/InvalidConfiguration")("InvalidConfiguration", {
    message: Schema.String
  })
{}

/** What a node does: answer requests, deliver events, or both. */
export type Role = "api" | "worker"

/** Every setting, decoded. */
export interface Configuration {
  readonly host: string
  /** 0: a free one. */
  readonly port: number
  /** Public origins; without them, where the service listens. */
  readonly authUrl: Option.Option<string>
  readonly baseUrl: Option.Option<string>
  /** A `postgres://` URL; without it, the embedded database in `dataDir`. */
  readonly databaseUrl: Option.Option<Redacted.Redacted<string>>
  readonly dataDir: string
  readonly operatorToken: Option.Option<Redacted.Redacted<string>>
  /** Each 32 bytes in base64; the first seals. */
  readonly masterKeys: Option.Option<Setting.MasterKeys>
  readonly policy: Policy.Policy.Service
  /** CIDRs that callbacks may reach besides the public internet. */
  readonly callbackAllow: ReadonlyArray<string>
  readonly roles: ReadonlySet<Role>
  /** Connections that are open at once. */
  readonly maxConnections: number
  /** Requests in the works at once. */
  readonly maxRequests: number
  /** Whether requests to callbacks carry a `traceparent` header: who receives it learns that they are traced. */
  readonly callbackTraceparent: boolean
  /** CIDRs whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: ReadonlyArray<string>
  /** Lines of the audit are kept for so long. */
  readonly auditRetention: Duration.Duration
  /** So long after the signal to stop requests are still taken, while `/readyz` sends the balancer elsewhere. */
  readonly drainDelay: Duration.Duration
  readonly logFormat: "pretty" | "json"
  readonly logLevel: LogLevel.LogLevel
  /** Where traces and metrics go by OTLP. */
  readonly otlpEndpoint: Option.Option<string>
  /** Variables that are set to no effect, and nearly have the name of a setting that is not. */
  readonly misspelt: ReadonlyArray<Misspelt.Misspelt>
}

/** Whether this host is reachable from this machine only. */
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

/** Whether browsers and applications can reach the service on this machine only. */
export const isLocal = (given: Pick<Configuration, "authUrl" | "baseUrl" | "host" | "port">): boolean =>
  Object.values(publicUrls(given, origin(given.host, given.port))).every((url) => isLoopback(hostOf(url)))

/** `http://HOST:PORT`, with the brackets that an IPv6 address needs. */
export const origin = (host: string, port: number): string => `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`

/** The name that the pages show. */
const ourName = "Startlist"

const variables = Config.all({
  host: Setting.host("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: Setting.integer("PORT", 0, 65_535).pipe(Config.withDefault(8080)),
  authUrl: Config.option(Setting.publicOrigin("AUTH_URL")),
  baseUrl: Config.option(Setting.publicOrigin("BASE_URL")),
  databaseUrl: Config.option(Setting.databaseUrl("DATABASE_URL")),
  dataDir: Config.string("DATA_DIR").pipe(Config.withDefault(".startlist")),
  operatorToken: Config.option(Setting.bearerToken("OPERATOR_TOKEN")),
  masterKeys: Config.option(Setting.keys("MASTER_KEY")),
  platformName: Setting.label("PLATFORM_NAME").pipe(Config.withDefault(ourName)),
  refreshRetry: Setting.duration("REFRESH_RETRY", 0, "10 minutes", "a period from 0s to 10m").pipe(
    Config.withDefault(Policy.documented.refreshRetryWithoutKey)
  ),
  profile: Setting.oneOf("PROFILE", ["documented", "rfc"]).pipe(Config.withDefault("documented")),
  scopes: Setting.scopes("SCOPES").pipe(Config.withDefault(Policy.documented.scopes)),
  webhookScope: Config.option(Setting.scope("WEBHOOK_SCOPE")),
  callbackAllow: Config.option(Setting.cidrs("CALLBACK_ALLOW")),
  callbackTraceparent: Setting.flag("CALLBACK_TRACEPARENT").pipe(Config.withDefault(false)),
  deliveryDelays: Setting.durations("DELIVERY_DELAYS").pipe(Config.withDefault(Policy.documented.deliveryDelays)),
  deliveryConcurrency: Setting.integer("DELIVERY_CONCURRENCY", 1, 10_000).pipe(
    Config.withDefault(Policy.documented.deliveryConcurrency)
  ),
  deliveryPerSubscription: Config.option(Setting.integer("DELIVERY_PER_SUBSCRIPTION", 1, 10_000)),
  roles: Setting.roles("ROLES").pipe(Config.withDefault<ReadonlySet<Role>>(new Set<Role>(["api", "worker"]))),
  maxConnections: Setting.integer("MAX_CONNECTIONS", 4, 1_000_000).pipe(Config.withDefault(4096)),
  maxRequests: Setting.integer("MAX_REQUESTS", 1, 1_000_000).pipe(Config.withDefault(512)),
  trustedProxies: Setting.cidrs("TRUSTED_PROXIES").pipe(Config.withDefault<ReadonlyArray<string>>([])),
  auditRetention: Setting.duration("AUDIT_RETENTION", auditFloor, "3650 days", "a period from 30d to 3650d").pipe(
    Config.withDefault(Duration.days(365))
  ),
  drainDelay: Setting.duration("DRAIN_DELAY", 0, "3 seconds", "a pause from 0s to 3s").pipe(
    Config.withDefault(Duration.zero)
  ),
  logFormat: Config.option(Setting.oneOf("LOG_FORMAT", ["pretty", "json"])),
  logLevel: Setting.logLevel("LOG_LEVEL"),
  otlpEndpoint: Config.option(Setting.endpoint("OTEL_EXPORTER_OTLP_ENDPOINT"))
})

const names = Misspelt.namesOf(variables)

type Variables = Config.Config.Success<typeof variables>

/** Settings that are each good but do not go together. */
const contradiction = (given: Variables): Option.Option<string> => {
  const perSubscription = Option.getOrElse(given.deliveryPerSubscription, () => 1)
  if (perSubscription > given.deliveryConcurrency) {
    return Option.some(
      `DELIVERY_PER_SUBSCRIPTION: ${perSubscription} is more than DELIVERY_CONCURRENCY (${given.deliveryConcurrency})`
    )
  }
  if (Option.isSome(given.webhookScope) && !given.scopes.includes(given.webhookScope.value)) {
    return Option.some(`WEBHOOK_SCOPE: ${given.webhookScope.value} is not one of SCOPES. Add it there.`)
  }
  if (Option.isSome(given.databaseUrl) && Option.isNone(given.operatorToken)) {
    return Option.some("OPERATOR_TOKEN: must be set together with DATABASE_URL, the same on every node")
  }
  if (Option.isSome(given.databaseUrl) && Option.isNone(given.masterKeys)) {
    return Option.some("MASTER_KEY: must be set together with DATABASE_URL, the same on every node")
  }
  if (given.callbackTraceparent && Option.isNone(given.otlpEndpoint)) {
    return Option.some("CALLBACK_TRACEPARENT: there is nothing to trace without OTEL_EXPORTER_OTLP_ENDPOINT")
  }
  return Option.none()
}

const toConfiguration = (
  given: Variables,
  isTerminal: boolean,
  misspelt: ReadonlyArray<Misspelt.Misspelt>
): Configuration => ({
  ...given,
  policy: {
    ...(given.profile === "rfc" ? Policy.rfc : Policy.documented),
    scopes: given.scopes,
    webhookScope: given.webhookScope,
    platformNames: [...new Set([given.platformName, ourName])],
    refreshRetryWithoutKey: given.refreshRetry,
    deliveryDelays: given.deliveryDelays,
    deliveryConcurrency: given.deliveryConcurrency,
    deliveryPerSubscription: Option.getOrElse(
      given.deliveryPerSubscription,
      () => Math.min(Policy.documented.deliveryPerSubscription, given.deliveryConcurrency)
    )
  },
  callbackAllow: Option.getOrElse(
    given.callbackAllow,
    () => isLocal(given) ? ["127.0.0.0/8", "::1/128"] : []
  ),
  logFormat: Option.getOrElse(given.logFormat, () => isTerminal ? "pretty" as const : "json" as const),
  misspelt
})

/** The first problem, as one line that begins with the variable's name. */
const describe = (error: ConfigError.ConfigError): string =>
  ConfigError.reduceWithContext(error, undefined, {
    andCase: (_, left) => left,
    orCase: (_, left) => left,
    invalidDataCase: (_, path, message) => `${path.join("_")}: ${message}`,
    missingDataCase: (_, path) => `${path.join("_")}: is not set`,
    sourceUnavailableCase: (_, path, message) => `${path.join("_")}: ${message}`,
    unsupportedCase: (_, path, message) => `${path.join("_")}: ${message}`
  })

/** What is set: an empty variable counts as unset. */
const nonEmpty = (environment: Readonly<Record<string, string | undefined>>): Map<string, string> =>
  new Map(
    Object.entries(environment).flatMap(([name, value]): ReadonlyArray<readonly [string, string]> =>
      value === undefined || value.trim() === "" ? [] : [[name, value.trim()]]
    )
  )

/**
 * Decodes an environment. `isTerminal`: whether a person reads the log. Fails with the first wrong or contradictory
 * setting; the message names it and contains no secret.
 */
export const decode = (
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean
): Effect.Effect<Configuration, InvalidConfiguration> => {
  const set = nonEmpty(environment)
  return ConfigProvider.fromMap(set).load(variables).pipe(
    Effect.mapError((error) => new InvalidConfiguration({ message: describe(error) })),
    Effect.flatMap((given) =>
      Option.match(contradiction(given), {
        onNone: () => Either.right(toConfiguration(given, isTerminal, Misspelt.find(set.keys(), names))),
        onSome: (message) => Either.left(new InvalidConfiguration({ message }))
      })
    )
  )
}

/** Decodes the environment of this process. */
export const current: Effect.Effect<Configuration, InvalidConfiguration> = Effect.suspend(() =>
  decode(process.env, process.stdout.isTTY === true)
)
