/**
 * All settings of the service: name, values, default and meaning. `vitest -u` writes the tables of
 * `docs/configuration.md` from it.
 */
import { availableParallelism } from "node:os"
import * as Duration from "effect/Duration"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Policy from "@startlist/core/Policy"
import * as PlatformColor from "@startlist/pages/PlatformColor"
import * as Otlp from "./Otlp.ts"
import * as Setting from "./Setting.ts"

/** Minimum of `AUDIT_RETENTION`: an entry can be removed only when it is this much older than the newest one. */
export const auditFloor = Duration.days(30)

/** Work of a node: `api` serves requests, `worker` delivers events. */
export type Role = "api" | "worker"

const { optional, setting } = Setting
const { documented } = Policy

/** The table. */
export const settings = {
  host: setting("HOST", Setting.host, "127.0.0.1", "The address on which the service listens."),
  port: setting(
    "PORT",
    Setting.integer(0, 65_535),
    8080,
    "The port on which the service listens. `0` takes a free port. The start line names it."
  ),
  authUrl: optional(
    "AUTH_URL",
    Setting.publicOrigin,
    "`http://HOST:PORT`",
    "The public origin of `/oauth/*` and the pages. Set it behind a proxy, and with `HOST=0.0.0.0`. With `https`, cookies are `Secure` and every answer has HSTS for a year. If set, it is also the issuer that redirects name (RFC 9207)."
  ),
  baseUrl: optional(
    "BASE_URL",
    Setting.publicOrigin,
    "`AUTH_URL`",
    "The public origin of `/api/v1/webhook_subscription`, if it differs from `AUTH_URL`. The developer pages show it."
  ),
  databaseUrl: optional(
    "DATABASE_URL",
    Setting.databaseUrl,
    "none",
    "`postgres://user:password@host:port/database?sslmode=…`. Without it, the service uses the embedded database in `DATA_DIR`. You can name several servers: `host1:port,host2:port`. The service connects to the server that takes writes ([standbys](scaling.md#survive-the-loss-of-a-database-server))."
  ),
  databaseConnections: setting(
    "DATABASE_CONNECTIONS",
    Setting.integer(2, 1000),
    10,
    "Maximum number of connections to PostgreSQL, per process. The embedded database does not use it."
  ),
  preparedStatements: setting(
    "PREPARED_STATEMENTS",
    Setting.flag,
    true,
    "Set `off` behind a pooler that gives each transaction another connection, such as PgBouncer in transaction mode ([consequences](scaling.md#pgbouncer))."
  ),
  dataDir: setting(
    "DATA_DIR",
    Setting.path,
    ".startlist",
    "The folder of the embedded database and the generated keys. The folder has mode 0700, the key files 0600. A folder in which others can write is refused. Not used if `DATABASE_URL` and both keys are set."
  ),
  operatorToken: optional(
    "OPERATOR_TOKEN",
    Setting.bearerToken,
    "generated",
    "The bearer token of the operator API. If it is not set, it is generated once and stored in `DATA_DIR/operator-token`. Required with `DATABASE_URL`."
  ),
  masterKeys: optional(
    "MASTER_KEY",
    Setting.masterKeys,
    "generated",
    "The key encrypts the signing secrets, and refresh tokens are derived with it. If it is not set, it is generated once and stored in `DATA_DIR/master-key`. Required with `DATABASE_URL`. Of several keys, the first encrypts, and all decrypt ([change it](operating.md#change-the-master-key)). If you lose it, the signing secrets cannot be recovered."
  ),
  platformName: setting(
    "PLATFORM_NAME",
    Setting.label,
    "Startlist",
    "The name of your platform, as users know it. The pages show it. No application can use it in its own name."
  ),
  platformLogo: optional(
    "PLATFORM_LOGO",
    Setting.path,
    "none",
    "A file with the logo of your platform: SVG, PNG, JPEG or WebP, at most 100 KiB. The pages show it beside the name and as their icon."
  ),
  platformColor: optional(
    "PLATFORM_COLOR",
    Setting.color,
    "`#0172ad`",
    "The colour of buttons and links. White text on it and links in it must have a contrast of at least 4.5:1 (WCAG AA). The dark theme uses a lighter shade for links."
  ),
  platformSupport: optional(
    "PLATFORM_SUPPORT",
    Setting.contact,
    "none",
    "Where your users get help. Every page links to it."
  ),
  platformPrivacyPolicy: optional(
    "PLATFORM_PRIVACY_POLICY",
    Setting.secureUrl,
    "none",
    "The privacy policy of your platform. Every page links to it, and the metadata (`op_policy_uri`)."
  ),
  platformGuide: optional(
    "PLATFORM_GUIDE",
    Setting.secureUrl,
    "`AUTH_URL/docs`",
    "Your guide for developers of applications. The developer pages link to it, and the metadata (`service_documentation`)."
  ),
  profile: setting(
    "PROFILE",
    Setting.oneOf("documented", "rfc"),
    "documented",
    "Where the documented interface differs from the RFCs, `rfc` follows the RFCs ([what differs](reference.md#where-the-interface-is-silent))."
  ),
  replay: optional(
    "REPLAY",
    Setting.oneOf("refuse", "revoke"),
    "`refuse`; with `PROFILE=rfc` `revoke`",
    "What a replaced refresh token or a used code causes. `refuse`: 401 or 400, an audit entry and a count. `revoke`: its line of tokens is revoked as well. A code and the latest replaced token have a grace of 60 seconds ([what differs](reference.md#where-the-interface-is-silent))."
  ),
  scopes: setting(
    "SCOPES",
    Setting.scopes,
    documented.scopes,
    "The scopes that applications can ask for ([add a scope](operating.md#add-a-scope))."
  ),
  defaultScope: optional(
    "DEFAULT_SCOPE",
    Setting.scopes,
    "none",
    "The scopes of an authorization request that names none, each one of `SCOPES`. Without this setting, such a request is refused. Clients that only discover, such as agents, may need it."
  ),
  webhookScope: optional(
    "WEBHOOK_SCOPE",
    Setting.scope,
    "none",
    "The scope that an access token needs for `/api/v1/webhook_subscription`, one of `SCOPES`. Without this setting, the role `platform` is enough."
  ),
  accessTokenLifetime: setting(
    "ACCESS_TOKEN_LIFETIME",
    Setting.duration("1 minute", "1 day"),
    documented.accessTokenLifetime,
    "Lifetime of an access token. The documented interface promises 28 800 seconds: see below."
  ),
  refreshTokenIdle: setting(
    "REFRESH_TOKEN_IDLE",
    Setting.duration("1 day", "3650 days"),
    documented.refreshTokenIdle,
    "A refresh token that is not used for this period expires."
  ),
  codeLifetime: setting(
    "CODE_LIFETIME",
    Setting.duration("30 seconds", "10 minutes"),
    documented.codeLifetime,
    "Lifetime of an authorization code. RFC 6749 allows 10 minutes at most."
  ),
  secretOverlap: setting(
    "SECRET_OVERLAP",
    Setting.duration(0, "30 days"),
    documented.secretOverlap,
    "How long a replaced client or signing secret remains valid beside the new one. A later change does not affect secrets that were replaced before."
  ),
  refreshRetry: setting(
    "REFRESH_RETRY",
    Setting.duration(0, "10 minutes"),
    documented.refreshRetryWithoutKey,
    "Time within which a repeated refresh without an `Idempotency-Key` gets the same answer. With `0s`, the previous refresh token is invalid immediately."
  ),
  callbackAllow: optional(
    "CALLBACK_ALLOW",
    Setting.cidrs,
    "none; loopback if the public address is loopback",
    "Address ranges (CIDRs) that callbacks may reach besides the public internet. `http` callbacks are accepted only there."
  ),
  callbackTraceparent: setting(
    "CALLBACK_TRACEPARENT",
    Setting.flag,
    false,
    "Whether a callback receives the `traceparent` of its event, so that the receiver can continue the trace."
  ),
  callbackTimeout: setting(
    "CALLBACK_TIMEOUT",
    Setting.duration("500 millis", "5 seconds"),
    documented.callbackTimeout,
    "Time within which a callback must answer. The documented interface promises two seconds."
  ),
  deliveryRetention: setting(
    "DELIVERY_RETENTION",
    Setting.duration("1 day", "3650 days"),
    documented.deliveryRetention,
    "How long deliveries that have ended are stored."
  ),
  deliveryDelays: setting(
    "DELIVERY_DELAYS",
    Setting.durations,
    documented.deliveryDelays,
    "Pauses before the attempts 2, 3, … There is one attempt more than pauses."
  ),
  deliveryConcurrency: setting(
    "DELIVERY_CONCURRENCY",
    Setting.integer(1, 10_000),
    documented.deliveryConcurrency,
    "Maximum number of delivery attempts in flight, per node."
  ),
  deliveryPerSubscription: optional(
    "DELIVERY_PER_SUBSCRIPTION",
    Setting.integer(1, 10_000),
    `\`${documented.deliveryPerSubscription}\`, or \`DELIVERY_CONCURRENCY\` if that is less`,
    "Maximum number of delivery attempts in flight to one subscription, per node."
  ),
  roles: setting(
    "ROLES",
    Setting.someOf<Role>("api", "worker"),
    new Set<Role>(["api", "worker"]),
    "What this node does: answer requests (`api`), deliver events (`worker`), or both. Every node has `/healthz`, `/readyz` and `/metrics`."
  ),
  processes: setting(
    "PROCESSES",
    Setting.count(64, availableParallelism),
    1,
    "Number of processes that serve requests on this machine. `auto`: one for each core. With more than 1, one more process delivers if `ROLES` has `worker`. Needs `DATABASE_URL` ([all cores](operating.md#use-all-cores-of-a-machine))."
  ),
  maxConnections: setting(
    "MAX_CONNECTIONS",
    Setting.integer(4, 1_000_000),
    4096,
    "Maximum number of open connections, per process. Further connections are closed. One address can hold a quarter of them, unless it is in `TRUSTED_PROXIES`. If a proxy is not listed there, raise this limit so that it gets enough connections."
  ),
  maxRequests: setting(
    "MAX_REQUESTS",
    Setting.integer(1, 1_000_000),
    512,
    "Maximum number of requests being processed, per process. Further requests get 503 and `Retry-After` immediately. `/healthz`, `/readyz` and `/metrics` are always answered."
  ),
  signInFailures: setting(
    "SIGN_IN_FAILURES",
    Setting.integer(3, 1000),
    10,
    "Maximum number of wrong passwords for one account in 5 minutes, from one network or from a known browser ([limits](security.md#limits))."
  ),
  signInFailuresPerAccount: setting(
    "SIGN_IN_FAILURES_PER_ACCOUNT",
    Setting.integer(3, 10_000),
    30,
    "Maximum number of wrong passwords for one account in 15 minutes, from all unknown browsers."
  ),
  signInFailuresPerNetwork: setting(
    "SIGN_IN_FAILURES_PER_NETWORK",
    Setting.integer(3, 100_000),
    100,
    "Maximum number of wrong passwords from one network in 5 minutes, for all accounts."
  ),
  trustedProxies: optional(
    "TRUSTED_PROXIES",
    Setting.cidrs,
    "none",
    "Address ranges (CIDRs) of proxies. Their `X-Forwarded-For` is used for limits and the audit. If a nearby proxy is missing here, the log has a warning."
  ),
  auditRetention: setting(
    "AUDIT_RETENTION",
    Setting.duration(auditFloor, "3650 days"),
    Duration.days(365),
    "How long entries of the audit are stored."
  ),
  drainDelay: setting(
    "DRAIN_DELAY",
    Setting.duration(0, "3 seconds"),
    Duration.zero,
    "How long a stopping node still serves after `/readyz` has become 503. Set it if a proxy asks `/readyz` only from time to time."
  ),
  logFormat: optional(
    "LOG_FORMAT",
    Setting.oneOf("pretty", "json"),
    "`pretty` on a terminal, else `json`",
    "The form of the log, for people or for programs."
  ),
  logLevel: setting(
    "LOG_LEVEL",
    Setting.logLevel,
    LogLevel.Info,
    "The least important lines that are logged. At `debug`, each request writes a line: see `LOG_REQUESTS`."
  ),
  logRequests: setting(
    "LOG_REQUESTS",
    Setting.flag,
    false,
    "`on`: each request writes a line at `info`, with the fields `method`, `route`, `status`, `duration_ms`, `client` (the address), `request_id`, and `client_id` if an application proved its identity by secret or token. Requests for `/healthz`, `/readyz` and `/metrics` stay at `debug`."
  ),
  installation: optional(
    "INSTALLATION",
    Setting.label,
    "the host of `AUTH_URL`, if that is set",
    "The label `installation` of every metric. It distinguishes several installations in one Prometheus."
  )
}

/** The values of all settings. */
export type Given = Setting.Values<typeof settings> & { readonly otlp: Otlp.Otlp }

/** A message about settings that are valid but contradict each other. */
export const contradiction = (given: Given): Option.Option<string> => {
  const pale = Option.flatMap(given.platformColor, PlatformColor.problemOf)
  if (Option.isSome(pale)) return Option.some(`PLATFORM_COLOR: ${pale.value}`)
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
  const unknown = Option.getOrElse(given.defaultScope, () => []).find((scope) => !given.scopes.includes(scope))
  if (unknown !== undefined) return Option.some(`DEFAULT_SCOPE: ${unknown} is not one of SCOPES. Add it there.`)
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
    return Option.some("PROCESSES: needs the role api, and ROLES does not contain it. Add api or remove PROCESSES.")
  }
  if (given.callbackTraceparent && Option.isNone(given.otlp.traces)) {
    return Option.some("CALLBACK_TRACEPARENT: needs traces. Set OTEL_EXPORTER_OTLP_ENDPOINT, or remove it.")
  }
  if (given.logRequests && LogLevel.greaterThan(given.logLevel, LogLevel.Info)) {
    return Option.some("LOG_REQUESTS: requests are logged at info, which LOG_LEVEL leaves out. Set LOG_LEVEL=info.")
  }
  return Option.none()
}
