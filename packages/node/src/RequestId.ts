/** A name for each request: the caller's or ours, in the answer and in every line that is logged meanwhile. */
import { randomBytes } from "node:crypto"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import { type Handler, idOf, type Request, type Response } from "@startlist/http/Message"
import type { RequestLog } from "./RequestLog.ts"

/** The field of the log that has it. */
export const requestIdField = "request_id"

const process = randomBytes(6).toString("base64url")
let count = 0

/** The caller's name for a request, if it is one, else a name that no other request has. */
export const of = (request: Request): string => idOf(request) ?? `${process}-${(++count).toString(36)}`

const broken: Response = { status: 500, headers: { "connection": "close", "cache-control": "no-store" }, body: "" }

/** What else is said of every request in the log: nothing. */
const unnamed = HashMap.empty<string, unknown>()

/** Hears of every answer, and how many seconds it took. */
export type Record = (request: Request, response: Response, seconds: number) => void

/**
 * Names the requests of a handler, and tells `record` of each. The fiber of a request is its own, so its log annotations
 * are set and never restored; and all that is on the way of every request is in one step: together some microseconds.
 * A bug is logged here, where the name is known, and so is the request, if there is a `log`. Every answer also gets the
 * `common` headers.
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
    const response = { status, headers: { ...headers, ...common, "x-request-id": id }, body }
    const seconds = (performance.now() - start) / 1000
    record(request, response, seconds)
    return Option.isNone(log) ? Effect.succeed(response) : Effect.as(log.value(request, response, seconds), response)
  }
  return Effect.flatMap(
    FiberRef.set(FiberRef.currentLogAnnotations, HashMap.set(unnamed, requestIdField, id)),
    () =>
      Effect.matchCauseEffect(handler({ ...request, id }), {
        onSuccess: answer,
        onFailure: (cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.failCause(cause)
            : Effect.zipRight(Effect.logError("a request died of a bug", cause), answer(broken))
      })
  )
}
