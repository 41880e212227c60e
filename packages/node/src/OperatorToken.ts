/** The bearer token of whoever operates the service. */
import { createHash, timingSafeEqual } from "node:crypto"
import * as Redacted from "effect/Redacted"
import { error } from "@startlist/http/api/ApiResponse"
import { header, type Request } from "@startlist/http/Message"

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Whether a request carries the operator token; the comparison takes the same time wherever they differ. */
export const isOperator = (token: Redacted.Redacted<string>): (request: Request) => boolean => {
  const expected = digest(Redacted.value(token))
  return (request) => {
    const [, given] = /^Bearer +(\S+) *$/i.exec(header(request, "authorization") ?? "") ?? []
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

/** The answer to everybody else. */
export const unauthorized = error(
  401,
  "the operator token is missing or wrong",
  [{
    resource: "Request",
    field: "authorization",
    code: "unauthorized",
    message: "must be: Bearer and the operator token"
  }],
  { "www-authenticate": "Bearer realm=\"operator\"" }
)
