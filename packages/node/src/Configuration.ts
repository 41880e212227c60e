/** The service's settings, read from the environment. `docs/configuration.md` describes every variable. */
import { isIP } from "node:net"
import * as Arr from "effect/Array"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Policy from "@startlist/core/Policy"
import { auditFloor } from "./AuditLog.ts"
import * as Misspelt from "./internal/misspelt.ts"
import * as SecretFiles from "./internal/secretFiles.ts"
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
  /** Connections to PostgreSQL that a node holds at most. */
  readonly databaseConnections: number
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
  databaseConnections: Setting.integer("DATABASE_CONNECTIONS", 2, 1000).pipe(Config.withDefault(10)),
  dataDir: Config.string("DATA_DIR").pipe(Config.withDefault(".startlist")),
  operatorToken: Config.option(Setting.bearerToken("OPERATOR_TOKEN")),
  masterKeys: Config.option(Setting.keys("MASTER_KEY")),
  platformName: Setting.label("PLATFORM_NAME").pipe(Config.withDefault(ourName)),
  accessTokenLifetime: Setting.duration("ACCESS_TOKEN_LIFETIME", "1 minute", "1 day", "a period from 1m to 1d").pipe(
    Config.withDefault(Policy.documented.accessTokenLifetime)
  ),
  refreshTokenIdle: Setting.duration("REFRESH_TOKEN_IDLE", "1 day", "3650 days", "a period from 1d to 3650d").pipe(
    Config.withDefault(Policy.documented.refreshTokenIdle)
  ),
  codeLifetime: Setting.duration("CODE_LIFETIME", "30 seconds", "10 minutes", "a period from 30s to 10m").pipe(
    Config.withDefault(Policy.documented.codeLifetime)
  ),
  secretOverlap: Setting.duration("SECRET_OVERLAP", 0, "30 days", "a period from 0s to 30d").pipe(
    Config.withDefault(Policy.documented.secretOverlap)
  ),
  callbackTimeout: Setting.duration("CALLBACK_TIMEOUT", "500 millis", "5 seconds", "a period from 500ms to 5s").pipe(
    Config.withDefault(Policy.documented.callbackTimeout)
  ),
  deliveryRetention: Setting.duration("DELIVERY_RETENTION", "1 day", "3650 days", "a period from 1d to 3650d").pipe(
    Config.withDefault(Policy.documented.deliveryRetention)
  ),
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

const names = new Set([...Misspelt.namesOf(variables), ...SecretFiles.names])

/** A setting without its value changes nothing, and nobody would notice: so a misspelt one stops the start. */
const misspelling = (variables: Iterable<string>): Option.Option<string> =>
  Option.map(
    Arr.head(Misspelt.find(variables, names)),
    ({ given, meant }) => `${given}: there is no such setting. If you mean ${meant}, rename it; otherwise remove it.`
  )

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
  isTerminal: boolean
): Configuration => ({
  ...given,
  policy: {
    ...(given.profile === "rfc" ? Policy.rfc : Policy.documented),
    scopes: given.scopes,
    webhookScope: given.webhookScope,
    platformNames: [...new Set([given.platformName, ourName])],
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
  callbackAllow: Option.getOrElse(
    given.callbackAllow,
    () => isLocal(given) ? ["127.0.0.0/8", "::1/128"] : []
  ),
  logFormat: Option.getOrElse(given.logFormat, () => isTerminal ? "pretty" as const : "json" as const)
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
 * setting, or a variable that is nearly one; the message names it and contains no secret. Reads the files of `…_FILE`.
 */
export const decode = (
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean
): Effect.Effect<Configuration, InvalidConfiguration> => {
  const set = nonEmpty(environment)
  const refuse = (message: string) => new InvalidConfiguration({ message })
  return Effect.gen(function*() {
    yield* Option.match(misspelling(set.keys()), { onNone: () => Effect.void, onSome: refuse })
    const resolved = yield* Effect.mapError(SecretFiles.resolve(set), refuse)
    const given = yield* Effect.mapError(
      ConfigProvider.fromMap(resolved).load(variables),
      (error) => refuse(describe(error))
    )
    yield* Option.match(contradiction(given), { onNone: () => Effect.void, onSome: refuse })
    return toConfiguration(given, isTerminal)
  })
}

/** Decodes the environment of this process. */
export const current: Effect.Effect<Configuration, InvalidConfiguration> = Effect.suspend(() =>
  decode(process.env, process.stdout.isTTY === true)
)
