/** The service: the core with a database, an HTTP listener and a delivery worker. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Runtime from "effect/Runtime"
import * as Schedule from "effect/Schedule"
import type { Callbacks } from "@startlist/core/Callbacks"
import { Platform } from "@startlist/core/Platform"
import { Policy } from "@startlist/core/Policy"
import * as Retention from "@startlist/core/Retention"
import { Secrets } from "@startlist/core/Secrets"
import * as Services from "@startlist/core/Services"
import * as Worker from "@startlist/core/Worker"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import type { Handler, Request, Response } from "@startlist/http/Http"
import * as NodeHttp from "@startlist/http/NodeHttp"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Pages from "@startlist/pages/Pages"
import * as Protocol from "@startlist/http/Protocol"
import * as Router from "@startlist/http/Router"
import * as Sessions from "@startlist/pages/Sessions"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import { PasswordLimits } from "@startlist/pages/SignInLimit"
import { HttpConfig } from "@startlist/http/HttpConfig"
import { AccountStore } from "./accounts/AccountStore.ts"
import * as ForeignHash from "./accounts/ForeignHash.ts"
import * as LocalAccounts from "./accounts/LocalAccounts.ts"
import * as AuditLog from "./data/AuditLog.ts"
import * as Backup from "./data/Backup.ts"
import { type DatabaseClock, DatabaseHealth, makeClock } from "./data/DatabaseHealth.ts"
import * as Keys from "./data/Keys.ts"
import * as SealedSecrets from "@startlist/postgres/SealedSecrets"
import * as SharedLimits from "./data/SharedLimits.ts"
import * as Storage from "./data/Storage.ts"
import * as ServiceRoutes from "./ServiceRoutes.ts"
import * as Listener from "./Listener.ts"
import * as OperatorApi from "./operator/OperatorApi.ts"
import type { Page } from "./processes/Link.ts"
import { Member } from "./processes/Member.ts"
import { type Configuration, InvalidConfiguration, origin, publicUrls } from "./settings/Configuration.ts"
import { logDoubts } from "./doctor/Finding.ts"
import * as Metrics from "./telemetry/Metrics.ts"
import * as Log from "./telemetry/Log.ts"
import * as Requests from "./telemetry/Requests.ts"

/** The log line of a complete start, with the next step for the operator. */
const startLine = (configuration: Configuration, url: string, database: string): string => {
  const next = configuration.roles.has("api") ? `open ${url}/ next` : "delivers events only"
  return `Startlist listens on ${url}; database: ${database}; ${next}`
}

/** Removes deliveries, sessions and audit entries that are past their retention. */
const purge = (auditRetention: Duration.Duration) =>
  Effect.gen(function*() {
    const accounts = yield* AccountStore
    const log = yield* AuditLog.AuditLog
    const now = yield* DateTime.now
    const deliveries = yield* Retention.purge
    const sessions = yield* Retention.inBatches((limit) => accounts.purgeSessions(now, limit))
    const lines = yield* Retention.inBatches((limit) =>
      log.purge(DateTime.subtractDuration(now, auditRetention), limit)
    )
    yield* Effect.logDebug("purged").pipe(Effect.annotateLogs({ deliveries, sessions, audit: lines }))
  })

/** Updates the gauges periodically, because a collector gets them without requesting them. */
const sample = Effect.flatMap(Metrics.makeSample, (update) => Effect.repeat(update, Schedule.spaced("10 seconds")))

/** Routes of the role `api` besides the operator API: documentation, protocol, pages. */
export const apiRoutes = Effect.map(
  Effect.all([ServiceRoutes.descriptionRoutes, Protocol.routes, Pages.routes, Pages.signIn, Pages.welcome]),
  (
    [documentation, protocol, pages, signIn, welcome]
  ) => [...documentation, ...protocol, ...pages, ...signIn, ...welcome]
)

/**
 * Maximum time until the response, if the database does not answer. A single call of a store ends after four seconds, but
 * a request may make several.
 */
const answerWithin = Duration.millis(4700)

/** Changes by the operator may take longer, because they may concern many deliveries. */
const operatorLimit = Duration.seconds(30)

/** Requests that validate a callback have the time for that in addition. */
const validating = /^\/(?:api\/v1\/webhook_subscription|developer\/)/

const limitsOf =
  ({ policy }: Configuration, isUntimed: (request: Request) => boolean) =>
  (request: Request): Duration.Duration | undefined => {
    if (isUntimed(request)) return undefined
    if (request.method === "GET" || request.method === "HEAD") return answerWithin
    if (request.path.startsWith("/operator/")) return operatorLimit
    return validating.test(request.path) ? Duration.sum(answerWithin, policy.callbackTimeout) : answerWithin
  }

/** The handler for all routes of this node, and what is done after a request that took too long. */
const makeHandler = Effect.fnUntraced(
  function*(
    configuration: Configuration,
    keys: Keys.Keys,
    draining: Ref.Ref<boolean>,
    clock: DatabaseClock,
    metrics: Effect.Effect<Page>
  ) {
    const isApi = configuration.roles.has("api")
    const status = yield* ServiceRoutes.statusRoutes(keys.operatorToken, draining, clock, metrics)
    const routes = isApi ? yield* apiRoutes : []
    const notFound = yield* Pages.notFound
    const otherwise = isApi ? yield* OperatorApi.make(keys.operatorToken, notFound) : notFound
    const traced = Option.isSome(configuration.otlp.traces)
      ? (yield* telemetry).makeTraced(configuration.otlp.sampler)
      : identity<Handler>
    const { authUrl, baseUrl } = yield* HttpConfig
    // A year. Browsers ignore the header over plain http (RFC 6797 §8.1).
    const common = [authUrl, baseUrl].some((url) => url.startsWith("https:"))
      ? { "strict-transport-security": "max-age=31536000" }
      : {}

    const handler = Router.make([...status, ...routes], otherwise)
    const routeOf = Requests.routesOf(handler.routeOf, OperatorApi.routeOf)
    const identified = Requests.identified(traced(handler, routeOf), routeOf, common, configuration)
    const runtime = yield* Effect.runtime()
    return {
      handler: identified.handler,
      onLate: (request: Request, response: Response, millis: number) => {
        Runtime.runFork(runtime)(identified.late(request, response, millis / 1000))
      }
    }
  }
)

/** The public URLs, which may depend on the port, and the platform with its guide. */
const layerSite = (
  configuration: Configuration,
  keys: Keys.Keys,
  url: string
): Layer.Layer<HttpConfig, never, Secrets> =>
  Layer.unwrapEffect(Effect.map(Secrets, (secrets) => {
    const urls = publicUrls(configuration, url)
    const { platform } = configuration
    const guide = Option.orElseSome(platform.guide, () => `${urls.authUrl}/docs`)
    const config = Layer.succeed(HttpConfig, {
      ...urls,
      issuer: configuration.authUrl,
      trustedProxies: configuration.trustedProxies,
      operatorToken: Option.some(secrets.hash(Redacted.value(keys.operatorToken))),
      resources: []
    })
    return Layer.merge(config, Layer.succeed(Platform, { ...platform, guide }))
  }))

/** With a collector, each delivery attempt is a span in the trace of its event. */
export const layerCallbacks = (configuration: Configuration): Layer.Layer<Callbacks> => {
  const dispatcher = Dispatcher.layerWith({
    allow: configuration.callbackAllow.flatMap((cidr) => Option.toArray(parseBlock(cidr))),
    traceparent: configuration.callbackTraceparent
  })
  return Option.isSome(configuration.otlp.traces)
    ? Layer.unwrapEffect(Effect.map(telemetry, ({ layerCallbacks }) => layerCallbacks(dispatcher)))
    : dispatcher
}

/** The core's services and the sign-in. */
const layerCore = (configuration: Configuration, keys: Keys.Keys, failureLimit: Layer.Layer<FailureLimit>) =>
  Layer.mergeAll(
    Services.layer,
    LocalAccounts.layerWith(keys.masterKeys),
    Backup.layer(configuration.dataDir),
    Layer.succeed(PasswordLimits, configuration.loginLimits)
  ).pipe(
    Layer.provideMerge(ForeignHash.layerClients),
    Layer.provideMerge(SharedLimits.layer(failureLimit)),
    Layer.provideMerge(AuditLog.layerAudit),
    Layer.provideMerge(layerCallbacks(configuration)),
    Layer.provideMerge(Layer.orDie(NodeSecrets.layerWith(Keys.masterKeysOf(keys)))),
    Layer.provideMerge(Layer.succeed(Policy, configuration.policy)),
    Layer.provideMerge(Layer.succeed(Platform, configuration.platform))
  )

/** Loaded only if there is a collector. */
const telemetry = Effect.promise(() => import("./telemetry/OpenTelemetry.ts"))

const layerTelemetry = (configuration: Configuration): Layer.Layer<never> =>
  Option.isSome(configuration.otlp.traces) || Option.isSome(configuration.otlp.metrics)
    ? Layer.unwrapEffect(Effect.map(telemetry, ({ layer }) => layer(configuration)))
    : Layer.empty

/** Serves and delivers until interrupted. Then stops accepting requests and completes those in progress. */
const node = (configuration: Configuration, keys: Keys.Keys, onListening: OnListening) =>
  Effect.gen(function*() {
    const { host, port, roles } = configuration
    const { closed, total } = yield* Effect.mapError(SealedSecrets.look(100), Storage.toConfigurationError("database"))
    if (total > 0 && closed.length === total) {
      return yield* new InvalidConfiguration({
        message: "MASTER_KEY: no key opens any of the signing secrets in the database. "
          + "Set the key that sealed them. If it is lost, make new secrets with startlist reseal --end-unreadable."
      })
    }
    const draining = yield* Ref.make(false)
    const clock = yield* makeClock
    const process = yield* Member
    const metrics = process.metrics(yield* Metrics.makeRender(configuration.installation))
    const listener = process.listens ? yield* Listener.bind(host, port, configuration) : Listener.deaf(port)
    const url = origin(host, listener.port)
    const site = Sessions.layer.pipe(Layer.provideMerge(layerSite(configuration, keys, url)))
    yield* Effect.provide(
      Effect.gen(function*() {
        const { handler, onLate } = yield* makeHandler(configuration, keys, draining, clock, metrics)
        const limitOf = limitsOf(configuration, OperatorApi.isUntimed(keys.operatorToken))
        const options = { capacity: configuration.maxRequests, limitOf, onLate }
        yield* listener.serve(yield* NodeHttp.listener(handler, options))
      }),
      site
    )
    if (Option.isSome(configuration.otlp.metrics)) yield* Effect.fork(sample)
    // With a clock that is ahead, a purge would remove what must be kept.
    const purges = Retention.repeatedly(purge(configuration.auditRetention))
    const work = [
      ...(roles.has("worker") ? [yield* Effect.fork(clock.whileItAgrees(Worker.run))] : []),
      ...(process.purges ? [yield* Effect.fork(clock.whileItAgrees(purges))] : [])
    ]
    const { description } = yield* DatabaseHealth
    yield* process.announce(startLine(configuration, url, description))
    yield* onListening(url)
    yield* Effect.fork(process.retire(listener.retire))

    const drain = Ref.set(draining, true).pipe(
      Effect.zipRight(Effect.sleep(configuration.drainDelay)),
      Effect.zipRight(Effect.all([listener.drain, Fiber.interruptAll(work)], { concurrency: "unbounded" }))
    )
    return yield* Effect.forEach(work, (fiber) => Fiber.join(fiber), { concurrency: "unbounded" }).pipe(
      Effect.zipRight(Effect.never),
      Effect.onInterrupt(() => drain)
    )
  })

/** Called once, with the address on which the service listens. */
export type OnListening = (url: string) => Effect.Effect<unknown>

/** Runs the service with this configuration until it is interrupted. Fails if it cannot start. */
export const run = (configuration: Configuration, onListening: OnListening = () => Effect.void) =>
  Effect.gen(function*() {
    const process = yield* Member
    if (process.isOnly) yield* logDoubts(configuration)
    const keys = yield* Keys.load(configuration)
    return yield* node(configuration, keys, onListening).pipe(
      Effect.provide(
        layerCore(configuration, keys, process.failureLimit).pipe(
          Layer.provideMerge(Storage.layer(configuration, keys))
        )
      )
    )
  }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(layerTelemetry(configuration), Log.layer(configuration))))
