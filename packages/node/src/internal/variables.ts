/** All settings: the name of each variable, its allowed values, and its default. */
import { availableParallelism } from "node:os"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Policy from "@startlist/core/Policy"
import { auditFloor } from "../AuditLog.ts"
import * as Otlp from "./otlp.ts"
import * as Setting from "./setting.ts"

/** Default of `PLATFORM_NAME`, which the pages show. */
export const ourName = "Startlist"

/** Work of a node: `api` serves requests, `worker` delivers events. */
export type Role = "api" | "worker"

export const variables = Config.all({
  host: Setting.host("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: Setting.integer("PORT", 0, 65_535).pipe(Config.withDefault(8080)),
  authUrl: Config.option(Setting.publicOrigin("AUTH_URL")),
  baseUrl: Config.option(Setting.publicOrigin("BASE_URL")),
  databaseUrl: Config.option(Setting.databaseUrl("DATABASE_URL")),
  databaseConnections: Setting.integer("DATABASE_CONNECTIONS", 2, 1000).pipe(Config.withDefault(10)),
  preparedStatements: Setting.flag("PREPARED_STATEMENTS").pipe(Config.withDefault(true)),
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
  replay: Config.option(Setting.oneOf("REPLAY", ["refuse", "revoke"])),
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
  processes: Setting.count("PROCESSES", 64, availableParallelism).pipe(Config.withDefault(1)),
  maxConnections: Setting.integer("MAX_CONNECTIONS", 4, 1_000_000).pipe(Config.withDefault(4096)),
  maxRequests: Setting.integer("MAX_REQUESTS", 1, 1_000_000).pipe(Config.withDefault(512)),
  signInFailures: Setting.integer("SIGN_IN_FAILURES", 3, 1000).pipe(Config.withDefault(10)),
  signInFailuresPerAccount: Setting.integer("SIGN_IN_FAILURES_PER_ACCOUNT", 3, 10_000).pipe(Config.withDefault(30)),
  signInFailuresPerNetwork: Setting.integer("SIGN_IN_FAILURES_PER_NETWORK", 3, 100_000).pipe(Config.withDefault(100)),
  trustedProxies: Setting.cidrs("TRUSTED_PROXIES").pipe(Config.withDefault<ReadonlyArray<string>>([])),
  auditRetention: Setting.duration("AUDIT_RETENTION", auditFloor, "3650 days", "a period from 30d to 3650d").pipe(
    Config.withDefault(Duration.days(365))
  ),
  drainDelay: Setting.duration("DRAIN_DELAY", 0, "3 seconds", "a pause from 0s to 3s").pipe(
    Config.withDefault(Duration.zero)
  ),
  logFormat: Config.option(Setting.oneOf("LOG_FORMAT", ["pretty", "json"])),
  logLevel: Setting.logLevel("LOG_LEVEL"),
  logRequests: Setting.flag("LOG_REQUESTS").pipe(Config.withDefault(false)),
  installation: Config.option(Setting.label("INSTALLATION")),
  otlp: Otlp.otlp
})

export type Variables = Config.Config.Success<typeof variables>

/** A message about settings that are valid but contradict each other. */
export const contradiction = (given: Variables): Option.Option<string> => {
  const perSubscription = Option.getOrElse(given.deliveryPerSubscription, () => 1)
  if (perSubscription > given.deliveryConcurrency) {
    return Option.some(
      `DELIVERY_PER_SUBSCRIPTION: ${perSubscription} is more than DELIVERY_CONCURRENCY (${given.deliveryConcurrency}). Lower it.`
    )
  }
  for (const name of ["PER_ACCOUNT", "PER_NETWORK"] as const) {
    const limit = name === "PER_ACCOUNT" ? given.signInFailuresPerAccount : given.signInFailuresPerNetwork
    if (limit < given.signInFailures) {
      return Option.some(
        `SIGN_IN_FAILURES_${name}: ${limit} is less than SIGN_IN_FAILURES (${given.signInFailures}). Raise it.`
      )
    }
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
  if (given.processes !== 1 && Option.isNone(given.databaseUrl)) {
    return Option.some("PROCESSES: more than 1 needs DATABASE_URL, since the embedded database belongs to one process")
  }
  if (given.processes !== 1 && !given.roles.has("api")) {
    return Option.some(
      "PROCESSES: needs the role api, and ROLES does not contain it. Add api or remove PROCESSES."
    )
  }
  if (given.callbackTraceparent && Option.isNone(given.otlp.traces)) {
    return Option.some("CALLBACK_TRACEPARENT: needs traces. Set OTEL_EXPORTER_OTLP_ENDPOINT, or remove it.")
  }
  if (given.logRequests && LogLevel.greaterThan(given.logLevel, LogLevel.Info)) {
    return Option.some("LOG_REQUESTS: requests are logged at info, which LOG_LEVEL leaves out. Set LOG_LEVEL=info.")
  }
  return Option.none()
}
