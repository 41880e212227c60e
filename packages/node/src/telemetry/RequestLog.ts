/** The record of each request: an identifier in its response and its log lines, and one line with its path. */
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
import { isProbe } from "../Status.ts"

/** Name of its field in the log. */
export const requestIdField = "request_id"

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

/** Called for every response, with the seconds that it took, and the application that has proven to send the request. */
export type Record = (
  request: Request,
  response: Response,
  seconds: number,
  application: ApplicationId | undefined
) => void

/** A handler whose requests are recorded. */
export interface Identified {
  readonly handler: Handler
  /** Records a request that was answered at its time limit, and logs it. The handler has not answered it. */
  readonly late: (request: Request, response: Response, seconds: number) => Effect.Effect<void>
}

/**
 * Gives each request an identifier, logs bugs with it, calls `record` and `log`, and adds the `common` headers. Each
 * request has its own fiber, so log annotations are never restored. One step for all of it, because every request
 * passes here.
 */
export const identified = (
  handler: Handler,
  record: Record,
  common: Response["headers"],
  log: Option.Option<RequestLog> = Option.none()
): Identified => {
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

/** Writes the log line of a request, with its path but without its query. */
export type RequestLog = (...of: Parameters<Record>) => Effect.Effect<void>

/**
 * With `LOG_REQUESTS`, requests are logged at `info` and probes at `debug`; without it, all are logged at `debug`. None
 * if the log level excludes these lines, so that requests have no extra cost.
 */
export const makeLog = (
  { logLevel, logRequests }: Pick<Configuration, "logLevel" | "logRequests">,
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

/**
 * The path of a request for logs, traces and the audit, without secrets and e-mail addresses. Cuts the path at the first character that no route has: a client that forgets the `?` sends its parameters as a path.
 * Long words are also removed, since they may be tokens, and the whole of an e-mail address.
 */
export const shownPath = (path: string): string =>
  path.replace(/\/[^/@]*?(?:@|%40).*/s, "/…").replace(/[^\w./-].*/s, "…").replaceAll(/[\w-]{25,}/g, "…").slice(0, 200)
