/**
 * Responses of `/api/v1/*`. Errors are `{"message", "errors": [{"resource", "field", "code", "message"}]}` with stable
 * codes, and `error` and `error_description` (RFC 6750 §3.1), because common client libraries read only these.
 */
import type { StoreError } from "@startlist/core/Store"
import type { Response } from "../Http.ts"
import { describe, type Refusal } from "../Refusal.ts"
import type { Refuse } from "../Router.ts"

/** An error of one field. `code` never changes its meaning; `message` is for people. */
export interface Problem {
  /** What the request is about, for example `WebhookSubscription`. */
  readonly resource: string
  /** The parameter or header. Empty if it is the whole request. */
  readonly field: string
  readonly code: string
  readonly message: string
}

const jsonHeaders: Response["headers"] = {
  "content-type": "application/json;charset=UTF-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff"
}

/** A response with a JSON body, which is never cached. */
export const json = (status: number, body: unknown, headers?: Response["headers"]): Response => ({
  status,
  headers: headers === undefined ? jsonHeaders : Object.assign({}, jsonHeaders, headers),
  body: JSON.stringify(body)
})

/** The response 204, without a body. */
export const noContent: Response = { status: 204, headers: { "cache-control": "no-store" }, body: "" }

/** Error codes of RFC 6750 §3.1 and RFC 6749 §4.1.2.1. */
export type ErrorName = "invalid_request" | "invalid_token" | "insufficient_scope" | "temporarily_unavailable"

/** The error code of RFC 6750 §3.1 for a status. That of an unavailable server is from RFC 6749 §4.1.2.1. */
const nameOf = (status: number): ErrorName => {
  switch (status) {
    case 401:
      return "invalid_token"
    case 403:
      return "insufficient_scope"
    case 429:
    case 503:
      return "temporarily_unavailable"
    default:
      return "invalid_request"
  }
}

/** The body of an error. */
export interface ErrorBody {
  readonly message: string
  readonly errors: ReadonlyArray<Problem>
  readonly error: ErrorName
  readonly error_description: string
}

/** The body of an error with this status. */
export const errorBody = (status: number, message: string, errors: ReadonlyArray<Problem>): ErrorBody => ({
  message,
  errors,
  error: nameOf(status),
  error_description: message
})

/** A response with an error. */
export const error = (
  status: number,
  message: string,
  errors: ReadonlyArray<Problem>,
  headers?: Response["headers"]
): Response => json(status, errorBody(status, message, errors), headers)

/** A general refusal in the format of this family. */
export const refused = (refusal: Refusal | StoreError): Response => {
  const { code, headers, message, status } = describe(refusal)
  return error(status, message, [{ resource: "Request", field: "", code, message }], headers)
}

/** Answers the general refusals in the format of this family. */
export const refuse: Refuse = (_request, refusal) => refused(refusal)
