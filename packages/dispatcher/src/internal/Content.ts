/** The two requests to callbacks, as each implementation of `Callbacks` sends them. */
import type { Post, Validation } from "@startlist/core/Callbacks"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type CallbackUrl, withQuery } from "../CallbackUrl.ts"

/** The request to send, and the parts of the answer that matter. */
export interface Content {
  readonly method: "GET" | "POST"
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Time of the request in milliseconds since 1970. A `Retry-After` with a date is relative to it. */
  readonly at: number
  /**
   * `excerpt`: status and headers decide, and the beginning of the body is stored for the log. `whole`: a 200 counts
   * only if its body is complete. A body that is too large counts as empty.
   */
  readonly reads: "excerpt" | "whole"
}

/** Parts of requests that the operator chooses. */
export interface Options {
  /** Default: `Startlist`. */
  readonly userAgent?: string
  /** Whether a delivery that has a trace names it in a `traceparent` header (W3C Trace Context). Default: no. */
  readonly traceparent?: boolean
}

/** The validation GET (requirements §4.7). */
export const validation = (
  { challenge, verifyToken }: Validation,
  { target }: CallbackUrl,
  { userAgent = "Startlist" }: Options
): Content => ({
  method: "GET",
  target: withQuery(target, {
    "hub.mode": "subscribe",
    "hub.challenge": challenge,
    "hub.verify_token": Redacted.value(verifyToken)
  }),
  headers: { accept: "application/json", "accept-encoding": "identity", "user-agent": userAgent },
  body: null,
  at: 0,
  reads: "whole"
})

/** The event POST (requirements §6.3). */
export const delivery = (
  { body, id, sequence, timestamp, trace }: Post,
  { target }: CallbackUrl,
  signature: string,
  { traceparent = false, userAgent = "Startlist" }: Options
): Content => ({
  method: "POST",
  target,
  headers: {
    "content-type": "application/json",
    "user-agent": userAgent,
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signature,
    "startlist-sequence": String(sequence),
    ...(traceparent && Option.isSome(trace) ? { traceparent: trace.value } : {})
  },
  body,
  at: timestamp * 1000,
  reads: "excerpt"
})
