/** The bearer token of the operator. */
import { createHash, timingSafeEqual } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { error, refused } from "@startlist/http/api/ApiResponse"
import { credentials, type Request, type Response } from "@startlist/http/Http"
import { TooMany } from "@startlist/http/Refusal"
import { FailureLimit, operatorKeys } from "@startlist/http/FailureLimit"

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Whether a request has the operator token. Compared in constant time. */
export const isOperator = (token: Redacted.Redacted<string>): (request: Request) => boolean => {
  const expected = digest(Redacted.value(token))
  return (request) => {
    const given = credentials(request, "bearer")
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

const unauthorized = error(
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

/** Answers requests without the token: 401, and 429 after too many attempts from one network. */
export const makeRefuseStranger: Effect.Effect<(request: Request) => Effect.Effect<Response>, never, FailureLimit> =
  Effect
    .map(FailureLimit, (failures) => ({ address }) =>
      Effect.map(
        failures.take(operatorKeys(address)),
        Option.match({ onNone: () => unauthorized, onSome: (wait) => refused(TooMany.after(wait)) })
      ))
