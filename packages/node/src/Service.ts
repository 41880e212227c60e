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
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Callbacks } from "@startlist/core/Callbacks"
import { Policy } from "@startlist/core/Policy"
import * as Retention from "@startlist/core/Retention"
import { Secrets } from "@startlist/core/Secrets"
import * as Services from "@startlist/core/Services"
import * as Worker from "@startlist/core/Worker"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import * as ApiResponse from "@startlist/http/api/ApiResponse"
import type { Handler, Request } from "@startlist/http/Http"
import * as NodeHttp from "@startlist/http/NodeHttp"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Pages from "@startlist/pages/Pages"
import * as Protocol from "@startlist/http/Protocol"
import * as Router from "@startlist/http/Router"
import * as Sessions from "@startlist/pages/Sessions"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import { PasswordLimits } from "@startlist/pages/SignInLimit"
import { HttpConfig } from "@startlist/http/HttpConfig"
import { AccountStore } from "./AccountStore.ts"
import * as AuditLog from "./AuditLog.ts"
import * as Backup from "./Backup.ts"
import { type Configuration, InvalidConfiguration, origin, publicUrls } from "./Configuration.ts"
import * as Database from "./Database.ts"
import * as Documentation from "./Documentation.ts"
import * as AccountErasure from "./AccountErasure.ts"
import { once } from "./internal/once.ts"
import * as Keys from "./Keys.ts"
import * as Listener from "./Listener.ts"
import * as LocalAccounts from "./LocalAccounts.ts"
import * as Log from "./Log.ts"
import * as Metrics from "./Metrics.ts"
import * as Deliveries from "./metrics/Deliveries.ts"
import * as Requests from "./metrics/Requests.ts"
import * as Tokens from "./metrics/Tokens.ts"
import type * as OperatorApi from "./operator/OperatorApi.ts"
import { isBackup } from "./OperatorToken.ts"
import * as Owners from "./Owners.ts"
import * as RequestId from "./RequestId.ts"
import * as RequestLog from "./RequestLog.ts"
import * as SealedSecrets from "./SealedSecrets.ts"
import { Process } from "./processes/Process.ts"
import { logDoubts } from "./Settings.ts"
import * as Status from "./Status.ts"

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
const sample = Effect.flatMap(Metrics.makeLook, (look) => Effect.repeat(look, Schedule.spaced("10 seconds")))

/** The operator API, loaded on its first request, so that the start is faster. */
const makeOperatorApi = (token: Redacted.Redacted<string>) =>
  Effect.gen(function*() {
    const services = yield* Effect.context<OperatorApi.Services | Scope.Scope>()
    const load = Effect.promise(() => import("./operator/OperatorApi.ts")).pipe(
      Effect.flatMap(({ make }) => make(token)),
      Effect.provide(services)
    )
    const loaded = yield* once(load)
    return (request: Request) => Effect.flatMap(loaded, (handler) => handler(request))
  })

/** Routes of the role `api` besides the operator API: documentation, protocol, pages. */
export const apiRoutes = Effect.map(
  Effect.all([Documentation.routes, Protocol.routes, Pages.routes, Pages.signIn, Pages.welcome]),
  ([documentation, protocol, pages, signIn, welcome]) => [...documentation, ...protocol, ...pages, ...signIn, welcome]
)

/** The handler for all routes of this node. */
const makeHandler = Effect.fnUntraced(
  function*(
    configuration: Configuration,
    keys: Keys.Keys,
    draining: Ref.Ref<boolean>,
    metrics: Effect.Effect<Metrics.Page>
  ) {
    const isApi = configuration.roles.has("api")
    const status = yield* Status.routes(keys.operatorToken, draining, metrics)
    const routes = isApi ? yield* apiRoutes : []
    const notFound = yield* Pages.notFound
    const operatorApi = isApi ? yield* makeOperatorApi(keys.operatorToken) : notFound
    const refusing = Router.fallback(ApiResponse.refuse)
    const traced = Option.isSome(configuration.otlp.traces)
      ? (yield* telemetry).makeTraced(configuration.otlp.sampler)
      : identity<Handler>
    const { authUrl, baseUrl } = yield* HttpConfig
    // A year. Browsers ignore the header over plain http (RFC 6797 §8.1).
    const common = [authUrl, baseUrl].some((url) => url.startsWith("https:"))
      ? { "strict-transport-security": "max-age=31536000" }
      : {}

    const otherwise: Handler = (request) =>
      !isApi || !Router.withoutExtraSlashes(request.path).startsWith("/operator/")
        ? notFound(request)
        : request.refusal === undefined
        ? operatorApi(request)
        : refusing(request)
    const handler = Router.make([...status, ...routes], otherwise)
    const routeOf = Requests.routesOf(handler)
    return RequestId.identified(
      traced(handler, routeOf),
      Requests.makeRecord(routeOf),
      common,
      RequestLog.make(configuration, routeOf)
    )
  }
)

/** The public URLs, which may depend on the port. */
const layerSite = (configuration: Configuration, keys: Keys.Keys, url: string): Layer.Layer<never, never, Secrets> =>
  Layer.unwrapEffect(Effect.map(Secrets, (secrets) => {
    return Layer.succeed(HttpConfig, {
      ...publicUrls(configuration, url),
      issuer: configuration.authUrl,
      trustedProxies: configuration.trustedProxies,
      operatorToken: Option.some(secrets.hash(Redacted.value(keys.operatorToken)))
    })
  }))

/** With a collector, each delivery attempt is a span in the trace of its event. */
const layerCallbacks = (configuration: Configuration): Layer.Layer<Callbacks> => {
  const dispatcher = Deliveries.layerCallbacks(Dispatcher.layerWith({
    allow: configuration.callbackAllow.flatMap((cidr) => Option.toArray(parseBlock(cidr))),
    traceparent: configuration.callbackTraceparent
  }))
  return Option.isSome(configuration.otlp.traces)
    ? Layer.unwrapEffect(Effect.map(telemetry, ({ layerCallbacks }) => layerCallbacks(dispatcher)))
    : dispatcher
}

/** The core's services and the sign-in. */
const layerCore = (configuration: Configuration, keys: Keys.Keys, failureLimit: Layer.Layer<FailureLimit>) =>
  Layer.mergeAll(
    Owners.layer.pipe(Layer.provideMerge(AccountErasure.layer), Layer.provideMerge(Tokens.layer(Services.layer))),
    LocalAccounts.layerWith(keys.masterKeys),
    Backup.layer(configuration.dataDir),
    AuditLog.layerAudit,
    failureLimit,
    Layer.succeed(PasswordLimits, configuration.loginLimits)
  ).pipe(
    Layer.provideMerge(layerCallbacks(configuration)),
    Layer.provideMerge(Layer.orDie(NodeSecrets.layerWith(Keys.masterKeysOf(keys)))),
    Layer.provideMerge(Layer.succeed(Policy, configuration.policy))
  )

/** Loaded only if there is a collector. */
const telemetry = Effect.promise(() => import("./Telemetry.ts"))

const layerTelemetry = (configuration: Configuration): Layer.Layer<never> =>
  Option.isSome(configuration.otlp.traces) || Option.isSome(configuration.otlp.metrics)
    ? Layer.unwrapEffect(Effect.map(telemetry, ({ layer }) => layer(configuration)))
    : Layer.empty

/** Serves and delivers until interrupted. Then stops accepting requests and completes those in progress. */
const node = (configuration: Configuration, keys: Keys.Keys, onListening: OnListening) =>
  Effect.gen(function*() {
    const { host, port, roles } = configuration
    const { closed, total } = yield* Effect.mapError(SealedSecrets.look(100), Database.toConfigurationError("database"))
    if (total > 0 && closed.length === total) {
      return yield* new InvalidConfiguration({
        message: "MASTER_KEY: no key opens any of the signing secrets in the database. "
          + "Set the key that sealed them. If it is lost, make new secrets with startlist reseal --end-unreadable."
      })
    }
    const draining = yield* Ref.make(false)
    const process = yield* Process
    const metrics = process.metrics(yield* Metrics.makeRender(configuration.installation))
    const listener = process.listens ? yield* Listener.bind(host, port, configuration) : Listener.deaf(port)
    const url = origin(host, listener.port)
    const site = Sessions.layer.pipe(Layer.provideMerge(layerSite(configuration, keys, url)))
    yield* Effect.provide(
      Effect.gen(function*() {
        const handler = yield* makeHandler(configuration, keys, draining, metrics)
        const limits = { capacity: configuration.maxRequests, isUntimed: isBackup(keys.operatorToken) }
        yield* listener.serve(yield* NodeHttp.listener(handler, limits))
      }),
      site
    )
    if (Option.isSome(configuration.otlp.metrics)) yield* Effect.fork(sample)
    const work = [
      ...(roles.has("worker") ? [yield* Effect.fork(Worker.run)] : []),
      ...(process.purges ? [yield* Effect.fork(Retention.repeatedly(purge(configuration.auditRetention)))] : [])
    ]
    const { description } = yield* Database.Database
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
    const process = yield* Process
    if (process.isOnly) yield* logDoubts(configuration)
    const keys = yield* Keys.load(configuration)
    return yield* node(configuration, keys, onListening).pipe(
      Effect.provide(
        layerCore(configuration, keys, process.failureLimit).pipe(
          Layer.provideMerge(Deliveries.layerStores(Database.layer(configuration, keys)))
        )
      )
    )
  }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(layerTelemetry(configuration), Log.layer(configuration))))
