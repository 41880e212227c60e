/** The body of `POST /api/v1/webhook_subscription` (requirements §4.6). */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Text } from "@startlist/core/Store"
import type { Wanted } from "@startlist/core/Subscriptions"
import { maxBodyBytes, type Request } from "../Message.ts"
import { mediaType, text } from "../Parameters.ts"
import { Malformed, type Refusal, TooLarge, UnsupportedMediaType } from "../Refusal.ts"
import type { Problem } from "./ApiResponse.ts"

const jsonType = "application/json"

/** Maximum length of the verify token, which is sent in the query of the validation request. */
const maxVerifyTokenLength = 1000

const isText = Schema.is(Text)

const parse = (source: string): Either.Either<unknown, Malformed> =>
  Either.try({ try: (): unknown => JSON.parse(source), catch: () => new Malformed({ what: "JSON of the body" }) })

const readJson = (request: Request): Either.Either<unknown, Refusal> => {
  if (request.body.byteLength > maxBodyBytes) return Either.left(new TooLarge())
  if (mediaType(request) !== jsonType) return Either.left(new UnsupportedMediaType({ accepted: jsonType }))
  const source = text(request.body)
  return source === undefined ? Either.left(new Malformed({ what: "UTF-8 of the body" })) : parse(source)
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const problem = (field: string, code: string, message: string): Problem => ({
  resource: "WebhookSubscription",
  field,
  code,
  message: `${field} ${message}`
})

/** A required string that every store can save, or the problem with it. */
const readString = (value: unknown, field: string): Either.Either<string, Problem> => {
  if (value === undefined || value === null || value === "") return Either.left(problem(field, "missing", "is missing"))
  if (typeof value !== "string") return Either.left(problem(field, "invalid", "must be a string"))
  if (!isText(value)) {
    return Either.left(problem(field, "invalid", "must not contain NUL or unpaired surrogates"))
  }
  return Either.right(value)
}

const readVerifyToken = (value: unknown): Either.Either<string, Problem> =>
  Either.filterOrLeft(
    readString(value, "verify_token"),
    (token) => token.length <= maxVerifyTokenLength,
    () => problem("verify_token", "too_long", `must not be longer than ${maxVerifyTokenLength} characters`)
  )

/** Reads the requested subscription, or returns all problems together. */
export const readWanted = (
  request: Request
): Effect.Effect<Either.Either<Wanted, ReadonlyArray<Problem>>, Refusal> =>
  Effect.map(readJson(request), (body) => {
    const wanted = isRecord(body) ? body["webhook_subscription"] : undefined
    if (!isRecord(wanted)) {
      const code = wanted === undefined ? "missing" : "invalid"
      return Either.left([problem("webhook_subscription", code, "must be an object in the body")])
    }
    const callbackUrl = readString(wanted["callback_url"], "callback_url")
    const verifyToken = readVerifyToken(wanted["verify_token"])
    if (Either.isRight(callbackUrl) && Either.isRight(verifyToken)) {
      return Either.right({ callbackUrl: callbackUrl.right, verifyToken: Redacted.make(verifyToken.right) })
    }
    return Either.left([callbackUrl, verifyToken].flatMap((field) => Either.isLeft(field) ? [field.left] : []))
  })
