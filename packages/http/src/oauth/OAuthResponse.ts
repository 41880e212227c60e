/** Responses of `/oauth/*` (RFC 6749). */
import type { Response } from "../Http.ts"
import { describe } from "../Refusal.ts"
import type { Refuse } from "../Router.ts"

/** RFC 6749 §5.1: responses with tokens are not cached. */
const jsonHeaders: Response["headers"] = {
  "content-type": "application/json;charset=UTF-8",
  "cache-control": "no-store",
  "pragma": "no-cache",
  "x-content-type-options": "nosniff"
}

/** A response with a JSON body, which is never cached. */
export const json = (status: number, body: unknown, headers?: Response["headers"]): Response => ({
  status,
  headers: headers === undefined ? jsonHeaders : Object.assign({}, jsonHeaders, headers),
  body: JSON.stringify(body)
})

/** Error codes of RFC 6749 §5.2 and §4.1.2.1, and RFC 6750 §3.1. */
export type ErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_token"
  | "unsupported_grant_type"
  | "temporarily_unavailable"

/** `{error, error_description}` (RFC 6749 §5.2). */
export const error = (
  status: number,
  code: ErrorCode,
  description: string,
  headers?: Response["headers"]
): Response => json(status, { error: code, error_description: description }, headers)

/** The secret is correct, so there is no challenge: another one would not help. */
export const suspendedClient: Response = error(401, "invalid_client", "the application is suspended")

/** With a challenge only if the client used that scheme (RFC 6749 §5.2). */
export const invalidClient = (usedBasic: boolean): Response =>
  error(
    401,
    "invalid_client",
    "the client is unknown, or its secret is missing or wrong",
    usedBasic ? { "www-authenticate": "Basic realm=\"startlist\", charset=\"UTF-8\"" } : undefined
  )

/** 429 and 503: the same request may succeed later. */
const codeOf = (status: number): ErrorCode =>
  status === 429 || status === 503 ? "temporarily_unavailable" : "invalid_request"

/** The general refusals in the format of RFC 6749. */
export const refuse: Refuse = (_request, refusal) => {
  const { headers, message, status } = describe(refusal)
  return error(status, codeOf(status), message, headers)
}
