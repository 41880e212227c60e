/** The service: the core over a database, behind a socket, with a worker beside it. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { Policy } from "@startlist/core/Policy"
import * as Retention from "@startlist/core/Retention"
import { Secrets } from "@startlist/core/Secrets"
import * as Services from "@startlist/core/Services"
import * as Worker from "@startlist/core/Worker"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import * as MemoryThrottle from "@startlist/http/MemoryThrottle"
import type { Handler, Request } from "@startlist/http/Message"
import * as NodeHttp from "@startlist/http/NodeHttp"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Pages from "@startlist/http/Pages"
import * as Protocol from "@startlist/http/Protocol"
import * as Router from "@startlist/http/Router"
import * as Sessions from "@startlist/http/Sessions"
import { Site } from "@startlist/http/Site"
import { AccountStore } from "./AccountStore.ts"
import * as AuditLog from "./AuditLog.ts"
import { type Configuration, origin } from "./Configuration.ts"
import * as Database from "./Database.ts"
import * as Documentation from "./Documentation.ts"
import * as Keys from "./Keys.ts"
import * as Listener from "./Listener.ts"
import * as LocalAccounts from "./LocalAccounts.ts"
import * as Metrics from "./Metrics.ts"
import type * as OperatorApi from "./operator/OperatorApi.ts"
import * as Status from "./Status.ts"

/** A word on what comes next, for the log. */
const startLine = (configuration: Configuration, url: string, database: string): string => {
  const next = configuration.roles.has("api") ? `open ${url}/ next` : "delivers events only"
  return `Startlist listens on ${url}; database: ${database}; ${next}`
}

/** How long lines of the audit are kept. */
const auditRetention = Duration.days(365)

/** How often what nobody needs any more is removed; the first time soon after the start. */
const purgeEvery = Duration.minutes(15)

const purge = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const log = yield* AuditLog.AuditLog
  const now = yield* DateTime.now
  const gone = yield* Retention.purge
  const sessions = yield* Retention.inBatches((limit) => accounts.purgeSessions(now, limit))
  const lines = yield* Retention.inBatches((limit) => log.purge(DateTime.subtractDuration(now, auditRetention), limit))
  yield* Effect.logDebug("purged").pipe(Effect.annotateLogs({ ...gone, sessions, audit: lines }))
}).pipe(
  Effect.catchAll((error) => Effect.logWarning("the purge waits for the store", error)),
  Effect.delay("30 seconds"),
  Effect.repeat(Schedule.jittered(Schedule.spaced(purgeEvery)))
)

/** One line for each request: its path, never its query. */
const logged = (handler: Handler): Handler => (request) =>
  Effect.tap(handler(request), ({ status }) => Effect.logDebug(`${request.method} ${request.path} ${status}`))

/** The operator API, loaded when it is first asked for: many nodes never are, and their start is faster without. */
const makeOperatorApi = (token: Redacted.Redacted<string>) =>
  Effect.gen(function*() {
    const services = yield* Effect.context<OperatorApi.Services | Scope.Scope>()
    const load = Effect.promise(() => import("./operator/OperatorApi.ts")).pipe(
      Effect.flatMap(({ make }) => make(token)),
      Effect.provide(services),
      Effect.uninterruptible
    )
    const loaded = yield* Effect.cached(load)
    return (request: Request) => Effect.flatMap(loaded, (handler) => handler(request))
  })

/** Everything that this node serves. */
const makeHandler = Effect.fnUntraced(
  function*(configuration: Configuration, keys: Keys.Keys, draining: Ref.Ref<boolean>) {
    const status = yield* Status.routes(keys.operatorToken, draining)
    const served = configuration.roles.has("api")
      ? [
        ...(yield* Documentation.routes),
        ...(yield* Protocol.routes),
        ...(yield* Pages.routes),
        ...(yield* Pages.signIn),
        yield* Pages.welcome
      ]
      : []
    const operatorApi = configuration.roles.has("api") ? yield* makeOperatorApi(keys.operatorToken) : Pages.notFound
    const otherwise: Handler = (request) =>
      request.path.startsWith("/operator/") ? operatorApi(request) : Pages.notFound(request)
    const handler = Metrics.observe(Router.make([...status, ...served], otherwise))
    const loud = LogLevel.lessThanEqual(configuration.logLevel, LogLevel.Debug) ? logged(handler) : handler
    if (Option.isNone(configuration.otlpEndpoint)) return loud
    const { traced } = yield* telemetry
    return traced(loud)
  }
)

/** Where the service stands, once it is known which port it has. */
const layerSite = (configuration: Configuration, keys: Keys.Keys, url: string): Layer.Layer<never, never, Secrets> =>
  Layer.unwrapEffect(Effect.map(Secrets, (secrets) => {
    return Layer.succeed(Site, {
      authUrl: Option.getOrElse(configuration.authUrl, () => url),
      baseUrl: Option.getOrElse(configuration.baseUrl, () => url),
      issuer: configuration.authUrl,
      trustedProxies: configuration.trustedProxies,
      operatorToken: Option.some(secrets.hash(Redacted.value(keys.operatorToken)))
    })
  }))

/** The core's services and the sign-in, over the database. */
const layerCore = (configuration: Configuration) =>
  Layer.mergeAll(Services.layer, LocalAccounts.layer, AuditLog.layerAudit, MemoryThrottle.layer).pipe(
    Layer.provideMerge(Metrics.layerCallbacks(Dispatcher.layerWith({
      allow: configuration.callbackAllow.flatMap((cidr) => Option.toArray(parseBlock(cidr)))
    }))),
    Layer.provideMerge(NodeSecrets.layer),
    Layer.provideMerge(Layer.succeed(Policy, configuration.policy))
  )

/** The log: for people, or one JSON object a line. */
export const layerLog = ({ logFormat, logLevel }: Configuration): Layer.Layer<never> =>
  Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      logFormat === "json" ? Logger.withConsoleLog(Logger.jsonLogger) : Logger.prettyLoggerDefault
    ),
    Logger.minimumLogLevel(logLevel)
  )

/** Loaded only if there is a collector. */
const telemetry = Effect.promise(() => import("./Telemetry.ts"))

const layerTelemetry = ({ otlpEndpoint }: Configuration): Layer.Layer<never> =>
  Option.match(otlpEndpoint, {
    onNone: () => Layer.empty,
    onSome: (endpoint) => Layer.unwrapEffect(Effect.map(telemetry, ({ layer }) => layer(endpoint)))
  })

/** Serves and works until interrupted, then stops accepting and finishes what was begun. */
const node = (configuration: Configuration, keys: Keys.Keys) =>
  Effect.gen(function*() {
    const { host, port, roles } = configuration
    const draining = yield* Ref.make(false)
    const listener = yield* Listener.bind(host, port)
    const url = origin(host, listener.port)
    const site = Sessions.layer.pipe(Layer.provideMerge(layerSite(configuration, keys, url)))
    yield* Effect.provide(
      Effect.gen(function*() {
        const handler = yield* makeHandler(configuration, keys, draining)
        yield* listener.serve(yield* NodeHttp.listener(handler))
      }),
      site
    )
    const purging = yield* Effect.fork(purge)
    const work = [...(roles.has("worker") ? [yield* Effect.fork(Worker.run)] : []), purging]
    const { description } = yield* Database.Database
    yield* Effect.log(startLine(configuration, url, description))

    const drain = Ref.set(draining, true).pipe(
      Effect.zipRight(Effect.all([listener.drain, Fiber.interruptAll(work)], { concurrency: "unbounded" }))
    )
    return yield* Effect.raceAll(work.map((fiber) => Fiber.join(fiber))).pipe(
      Effect.zipRight(Effect.never),
      Effect.onInterrupt(() => drain)
    )
  })

/** The service as this configuration says. Fails if it cannot start, and else runs until it is interrupted. */
export const run = (configuration: Configuration) =>
  Effect.gen(function*() {
    const keys = yield* Keys.load(configuration)
    return yield* node(configuration, keys).pipe(
      Effect.provide(layerCore(configuration).pipe(Layer.provideMerge(Database.layer(configuration, keys))))
    )
  }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(layerTelemetry(configuration), layerLog(configuration))))
