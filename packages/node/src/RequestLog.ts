/** One log line per request, with its path but without its query. */
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import type { Request, Response } from "@startlist/http/Http"
import type { Configuration } from "./Configuration.ts"
import { shownPath } from "./ShownPath.ts"
import { isProbe } from "./Status.ts"

/** Writes the log line of a request. */
export type RequestLog = (request: Request, response: Response, seconds: number) => Effect.Effect<void>

/**
 * With `LOG_REQUESTS`, requests are logged at `info` and probes at `debug`; without it, all are logged at `debug`. None
 * if the log level excludes these lines, so that requests have no extra cost.
 */
export const make = (
  { logLevel, logRequests }: Pick<Configuration, "logLevel" | "logRequests">,
  routeOf: (path: string) => string
): Option.Option<RequestLog> => {
  if (!logRequests && LogLevel.greaterThan(logLevel, LogLevel.Debug)) return Option.none()
  return Option.some(({ address, method, path }, { status }, seconds) => {
    const route = routeOf(path)
    const level = logRequests && !isProbe(route) ? LogLevel.Info : LogLevel.Debug
    return LogLevel.lessThan(level, logLevel) ? Effect.void : Effect.annotateLogs(
      Effect.logWithLevel(level, `${method} ${shownPath(path)} ${status}`),
      { method, route, status, duration_ms: Math.round(seconds * 1000 * 100) / 100, client: address }
    )
  })
}
