/** An identifier for each request, in the response and in every log line about the request. */
import { randomBytes } from "node:crypto"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import { type Handler, idOf, type Request, type Response } from "@startlist/http/Http"
import type { RequestLog } from "./RequestLog.ts"

/** Name of its field in the log. */
export const requestIdField = "request_id"

const process = randomBytes(6).toString("base64url")
let count = 0

/** The caller's identifier of a request if it is valid, otherwise a new unique one. */
export const of = (request: Request): string => idOf(request) ?? `${process}-${(++count).toString(36)}`

const broken: Response = { status: 500, headers: { "connection": "close", "cache-control": "no-store" }, body: "" }

const unnamed = HashMap.empty<string, unknown>()

/** Called for every response, with the seconds that it took. */
export type Record = (request: Request, response: Response, seconds: number) => void

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
): Handler =>
(request) => {
  const start = performance.now()
  const id = of(request)
  const answer = ({ body, headers, status }: Response): Effect.Effect<Response> => {
    const response = { status, headers: Object.assign({}, headers, common, { "x-request-id": id }), body }
    const seconds = (performance.now() - start) / 1000
    record(request, response, seconds)
    return Option.isNone(log) ? Effect.succeed(response) : Effect.as(log.value(request, response, seconds), response)
  }
  return Effect.flatMap(
    FiberRef.set(FiberRef.currentLogAnnotations, HashMap.set(unnamed, requestIdField, id)),
    () =>
      Effect.matchCauseEffect(handler(Object.assign({}, request, { id })), {
        onSuccess: answer,
        onFailure: (cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.failCause(cause)
            : Effect.zipRight(Effect.logError("a request failed because of a bug", cause), answer(broken))
      })
  )
}
