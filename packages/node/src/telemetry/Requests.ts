/** The record of each request: its identifier, its metrics by route, status and application, and its line in the log. */
import { randomBytes } from "node:crypto"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as LogLevel from "effect/LogLevel"
import type { ApplicationId } from "@startlist/core/Application"
import { type Handler, idOf, type Request, type Response } from "@startlist/http/Http"
import type { Configuration } from "../settings/Configuration.ts"
import * as Prometheus from "./Prometheus.ts"

/** Called for every response, with the seconds that it took, and the application that has proven to send the request. */
type Record = (
  request: Request,
  response: Response,
  seconds: number,
  application: ApplicationId | undefined
) => void

const requests = Prometheus.counter("http_requests_total", "Answered requests", "method", "route", "status")
const durations = Prometheus.histogram(
  "http_request_duration_seconds",
  Prometheus.shortTimes,
  "Time from the complete request to its response",
  "route"
)

const byApplication = Prometheus.counter(
  "application_requests_total",
  "Answered requests of applications that proved their identity: of the busiest, and of all others together",
  "application",
  "status"
)
byApplication.declare("other", "200")

/** The route of a path, without identifiers, or `other`: the number of series must be bounded. */
export const routesOf =
  (routeOf: (path: string) => string | undefined, otherwise: (path: string) => string | undefined) =>
  (path: string): string => routeOf(path) ?? otherwise(path) ?? "other"

const methods = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"])

/** Maximum number of applications with their own series. */
const maxNamed = 20

const minute = 60_000

/**
 * The labels of applications: `client_id`, or `other`. An application that has its own series keeps it, so that no counter
 * goes back. The next one needs half as many requests in a minute again as the one before: 1, 2, 3, 4, 6, … 2 217. So a
 * small installation sees all its applications, and in a large one there is room for one that becomes busy.
 */
export const makeLabels = (now: () => number = () => performance.now()): (id: number) => string => {
  const named = new Map<number, string>()
  const recent = new Map<number, number>()
  let endsAt = 0
  return (id) => {
    const label = named.get(id)
    if (label !== undefined) return label
    if (named.size >= maxNamed) return "other"
    if (now() >= endsAt) {
      recent.clear()
      endsAt = now() + minute
    }
    const count = (recent.get(id) ?? 0) + 1
    recent.set(id, count)
    if (count < 1.5 ** named.size) return "other"
    named.set(id, String(id))
    return String(id)
  }
}

/** Counts and times requests. */
const makeRecord = (routeOf: (path: string) => string): Record => {
  const known = new Map<string, (seconds: number) => void>()
  const labelOf = makeLabels()
  const find = (method: string, route: string, status: number) => {
    const count = requests.at(methods.has(method) ? method : "other", route, String(status))
    const time = durations.at(route)
    return (seconds: number) => {
      count(1)
      time(seconds)
    }
  }
  return ({ method, path }, { status }, seconds, application) => {
    const route = routeOf(path)
    // A client may send any method. Only the known ones get their own key.
    const key = methods.has(method) ? `${method} ${status} ${route}` : `${status} ${route}`
    let one = known.get(key)
    if (one === undefined) {
      one = find(method, route, status)
      known.set(key, one)
    }
    one(seconds)
    if (application !== undefined) byApplication.update(1, labelOf(application), String(status))
  }
}

/** Name of the field with the identifier of a request in the log. */
export const requestIdField = "request_id"

/**
 * The path of a request for logs, traces and the audit, without secrets and e-mail addresses. Cuts the path at the first
 * character that no route has: a client that forgets the `?` sends its parameters as a path. Long words are also removed,
 * since they may be tokens, and the whole of an e-mail address.
 */
export const shownPath = (path: string): string =>
  path.replace(/\/[^/@]*?(?:@|%40).*/s, "/…").replace(/[^\w./-].*/s, "…").replaceAll(/[\w-]{25,}/g, "…").slice(0, 200)

const probes = new Set(["/healthz", "/readyz", "/metrics"])

/** Whether monitoring requests this route all the time. Traces and logs at `info` omit these requests. */
export const isProbe = (route: string): boolean => probes.has(route)

type LogSettings = Pick<Configuration, "logLevel" | "logRequests">

/** Writes the log line of a request, with its path but without its query. */
type RequestLog = (...of: Parameters<Record>) => Effect.Effect<void>

/**
 * With `LOG_REQUESTS`, requests are logged at `info` and probes at `debug`; without it, all are logged at `debug`. None
 * if the log level excludes these lines, so that requests have no extra cost.
 */
const makeLog = (
  { logLevel, logRequests }: LogSettings,
  routeOf: (path: string) => string
): Option.Option<RequestLog> => {
  if (!logRequests && LogLevel.greaterThan(logLevel, LogLevel.Debug)) return Option.none()
  return Option.some(({ address, method, path }, { status }, seconds, application) => {
    const route = routeOf(path)
    const level = logRequests && !isProbe(route) ? LogLevel.Info : LogLevel.Debug
    const from = application === undefined ? { client: address } : { client: address, client_id: application }
    return LogLevel.lessThan(level, logLevel) ? Effect.void : Effect.annotateLogs(
      Effect.logWithLevel(level, `${method} ${shownPath(path)} ${status}`),
      { method, route, status, duration_ms: Math.round(seconds * 1000 * 100) / 100, ...from }
    )
  })
}

const process = randomBytes(6).toString("base64url")
let count = 0

/** The caller's identifier of a request if it is valid, otherwise a new unique one. */
const idFor = (request: Request): string => idOf(request) ?? `${process}-${(++count).toString(36)}`

const broken: Response = { status: 500, headers: { "connection": "close", "cache-control": "no-store" }, body: "" }

const unnamed = HashMap.empty<string, unknown>()

/** The identifier of a request, and the application that has proven to send it. */
interface Sender {
  readonly id: string
  application: ApplicationId | undefined
}

/** A handler whose requests are recorded. */
interface Identified {
  readonly handler: Handler
  /** Records a request that was answered at its time limit, and logs it. The handler has not answered it. */
  readonly late: (request: Request, response: Response, seconds: number) => Effect.Effect<void>
}

/**
 * Gives each request an identifier, logs bugs with it, counts, times and logs the request, and adds the `common` headers.
 * Each request has its own fiber, so log annotations are never restored. One step for all of it, because every request
 * passes here.
 */
export const identified = (
  handler: Handler,
  routeOf: (path: string) => string,
  common: Response["headers"],
  configuration: LogSettings
): Identified => {
  const record = makeRecord(routeOf)
  const log = makeLog(configuration, routeOf)
  const senders = new WeakMap<Request, Sender>()
  return {
    handler: (request) => {
      const start = performance.now()
      const id = idFor(request)
      const sender: Sender = { id, application: undefined }
      senders.set(request, sender)
      const onApplication = (id: ApplicationId): void => {
        sender.application = id
      }
      const answer = ({ body, headers, status }: Response): Effect.Effect<Response> => {
        const response = { status, headers: Object.assign({}, headers, common, { "x-request-id": id }), body }
        const seconds = (performance.now() - start) / 1000
        record(request, response, seconds, sender.application)
        return Option.isNone(log)
          ? Effect.succeed(response)
          : Effect.as(log.value(request, response, seconds, sender.application), response)
      }
      return Effect.flatMap(
        FiberRef.set(FiberRef.currentLogAnnotations, HashMap.set(unnamed, requestIdField, id)),
        () =>
          Effect.matchCauseEffect(handler(Object.assign({}, request, { id, onApplication })), {
            onSuccess: answer,
            onFailure: (cause) =>
              Cause.isInterruptedOnly(cause)
                ? Effect.failCause(cause)
                : Effect.zipRight(Effect.logError("a request failed because of a bug", cause), answer(broken))
          })
      )
    },
    late: (request, response, seconds) => {
      const sender = senders.get(request)
      record(request, response, seconds, sender?.application)
      if (Option.isNone(log)) return Effect.void
      return Effect.annotateLogs(log.value(request, response, seconds, sender?.application), requestIdField, sender?.id)
    }
  }
}
