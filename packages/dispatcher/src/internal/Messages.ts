/**
 * The two requests to callbacks, and the answers as their owners see them: the beginning of the body, or the reason of a
 * failure. For each implementation of `Callbacks`, so without Node.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Answer, type Post, type Validation } from "@startlist/core/Callbacks"
import { type CallbackUrl, withQuery } from "../CallbackUrl.ts"
import type { Violation } from "./AnswerReader.ts"

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

const unreachable = (detail: string): Answer => Answer.Unreachable({ detail })

/** The deadline has passed. */
export const timedOut: Answer = Answer.TimedOut({ detail: "no answer in time" })

/** The URL was not accepted when it was registered, or is not any more. */
export const refusedUrl: Answer = Answer.Forbidden({ detail: "this URL may not be called" })

const noAddress = "the name has no address"
const notResolved = "the name could not be resolved"
const oldTls = "TLS: the callback does not speak version 1.2 or later"
const untrusted = "TLS: an intermediate certificate is missing, or its authority is not trusted"
const incomplete = "the connection was closed before the answer was complete"

const violations: Readonly<Record<Violation, string>> = {
  malformed: "the answer is not valid HTTP",
  head_too_large: "the headers of the answer are too large",
  too_large: "the answer is too large",
  too_many_interim: "too many interim answers (1xx)",
  incomplete
}

/** Descriptions by the `code` of errors of Node, OpenSSL, c-ares and our own, without details of our network. */
const details: Readonly<Record<string, string>> = {
  ...violations,
  ENOTFOUND: noAddress,
  ENODATA: noAddress,
  EBADNAME: noAddress,
  ETIMEOUT: notResolved,
  ESERVFAIL: notResolved,
  EREFUSED: notResolved,
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to the callback",
  ENETUNREACH: "no route to the callback",
  ETIMEDOUT: "no connection",
  CERT_HAS_EXPIRED: "TLS: the certificate has expired",
  CERT_NOT_YET_VALID: "TLS: the certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "TLS: the certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "TLS: the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "TLS: the authority of the certificate is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_SIGNATURE_FAILURE: "TLS: the certificate is not trusted",
  ERR_SSL_WRONG_VERSION_NUMBER: "TLS: the callback does not speak TLS",
  ERR_SSL_UNSUPPORTED_PROTOCOL: oldTls,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: oldTls
}

/** Converts an error of the connection or of the protocol to an `Answer`. */
export const fromError = (error: Error): Answer => {
  const code = "code" in error && typeof error.code === "string" ? error.code : ""
  if (code === "FORBIDDEN_ADDRESS") {
    return Answer.Forbidden({ detail: "the address of the callback may not be called" })
  }
  const isTls = code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_") || code === "EPROTO"
  return unreachable(details[code] ?? (isTls ? "TLS failed" : incomplete))
}

/** Maximum size of a validation's body in bytes (requirements §4.7 needs about sixty). A larger one counts as empty. */
export const wholeBytes = 4 * 1024

/** Length of an excerpt in characters, and the number of bytes that it needs at most. */
const excerptLength = 200
export const excerptBytes = 4 * excerptLength

/** The text of a body, with a byte order mark if there is one. */
export const textOf = (bytes: Uint8Array): string => utf8.decode(bytes)

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** The excerpt of a body, which is stored for the log. */
export const excerptOf = (beginning: Uint8Array): string => textOf(beginning).slice(0, excerptLength)

/** Maximum wait for an excerpt in milliseconds, and the time before the deadline at which the wait ends. */
const longestWait = 250
const reserve = 50

/** Maximum wait for an excerpt, if the deadline is `left` milliseconds away. */
export const excerptWait = (left: number): number => Math.max(0, Math.min(longestWait, left - reserve))

/** The beginning of a body, in one buffer: a body may arrive in any number of pieces. */
export class Beginning {
  readonly #most: number
  #buffer: Uint8Array | undefined
  #size = 0
  #received = 0

  /** `most`: maximum number of bytes to store. */
  constructor(most: number) {
    this.#most = most
  }

  add(piece: Uint8Array): void {
    this.#received += piece.byteLength
    const part = piece.subarray(0, this.#most - this.#size)
    if (part.byteLength === 0) return
    this.#buffer ??= new Uint8Array(this.#most)
    this.#buffer.set(part, this.#size)
    this.#size += part.byteLength
  }

  /** Number of bytes that have arrived. */
  get received(): number {
    return this.#received
  }

  get bytes(): Uint8Array {
    return this.#buffer?.subarray(0, this.#size) ?? noBytes
  }
}

const noBytes = new Uint8Array()

/** Maximum `Retry-After`. Longer values are probably mistakes. */
const longestDelay = Duration.days(1)

/** The forms of an HTTP date (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT` and two obsolete ones. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w :-]{16,24}$/

/** The wait that a `Retry-After` asks for (RFC 9110 §10.2.3), from `now` (milliseconds since 1970), at most a day. */
export const retryAfter = (value: string, now: number): Option.Option<Duration.Duration> => {
  const millis = /^\d+$/.test(value) ? Number(value) * 1000 : httpDate.test(value) ? toMillis(value) - now : NaN
  return millis > 0 ? Option.some(Duration.min(Duration.millis(millis), longestDelay)) : Option.none()
}

/** Parses a date. The obsolete asctime form has no zone, but is in GMT like the others. */
const toMillis = (date: string): number => Date.parse(date.endsWith("GMT") ? date : `${date} GMT`)
