/** `/api/v1/webhook_subscription`: an application's one subscription (requirements §4.6, §4.8, §4.9). */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import { Text } from "@startlist/core/Store"
import {
  entitled,
  type InvalidCallbackUrl,
  type NotEntitled,
  Subscriptions,
  type Wanted
} from "@startlist/core/Subscriptions"
import { maxBodyBytes, type Request, type Response } from "../Http.ts"
import { get, isBlank, mediaType, readOnce, text } from "../Parameters.ts"
import { Malformed, type Refusal, TooLarge, UnsupportedMediaType } from "../Refusal.ts"
import type { BearerAccess } from "@startlist/core/Grant"
import { Applications } from "@startlist/core/Applications"
import type { OAuth } from "@startlist/core/OAuth"
import { Policy } from "@startlist/core/Policy"
import type { Subscription, ValidationFailed } from "@startlist/core/Subscription"
import type { FailureLimit } from "../FailureLimit.ts"
import { HttpConfig, type Resource } from "../HttpConfig.ts"
import * as ApplicationLimits from "../ApplicationLimits.ts"
import { anyOrigin, type Endpoint, type Route } from "../Router.ts"
import * as ApiResponse from "./ApiResponse.ts"
import * as Bearer from "./Bearer.ts"

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

const problem = (field: string, code: string, message: string): ApiResponse.Problem => ({
  resource: "WebhookSubscription",
  field,
  code,
  message: `${field} ${message}`
})

/** A required string that every store can save, or the problem with it. */
const readString = (value: unknown, field: string): Either.Either<string, ApiResponse.Problem> => {
  if (value === undefined || value === null || value === "") return Either.left(problem(field, "missing", "is missing"))
  if (typeof value !== "string") return Either.left(problem(field, "invalid", "must be a string"))
  if (!isText(value)) {
    return Either.left(problem(field, "invalid", "must not contain NUL or unpaired surrogates"))
  }
  return Either.right(value)
}

const readVerifyToken = (value: unknown): Either.Either<string, ApiResponse.Problem> =>
  Either.filterOrLeft(
    readString(value, "verify_token"),
    (token) => token.length <= maxVerifyTokenLength,
    () => problem("verify_token", "too_long", `must not be longer than ${maxVerifyTokenLength} characters`)
  )

/** Reads the requested subscription, or returns all problems together. */
const readWanted = (
  request: Request
): Effect.Effect<Either.Either<Wanted, ReadonlyArray<ApiResponse.Problem>>, Refusal> =>
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

/** Requirements §2.3; instants as ISO 8601 in UTC with milliseconds. */
const toBody = ({ callbackUrl, createdAt, id, updatedAt }: Subscription) => ({
  id,
  callback_url: callbackUrl,
  created_at: DateTime.formatIso(createdAt),
  updated_at: DateTime.formatIso(updatedAt)
})

const error = (status: number, field: string, code: string, message: string): Response =>
  ApiResponse.error(status, message, [{ resource: "WebhookSubscription", field, code, message }])

const notFound = error(404, "id", "not_found", "there is no such subscription")
const alreadySubscribed = error(409, "callback_url", "already_exists", "the application already has a subscription")

const urlProblems: Readonly<Record<InvalidCallbackUrl["reason"], string>> = {
  too_long: "callback_url must not be longer than 255 characters",
  invalid: "callback_url must be an absolute https URL without user name and fragment",
  international_name: "the host of callback_url must be in its ASCII form: münchen.example is xn--mnchen-3ya.example",
  trailing_dot: "the host of callback_url must not end with a dot",
  characters: "callback_url has a character that must be encoded with a percent sign, as %7B for {"
}

/** The kind of failure, with the status or media type of the callback's response. */
const validationProblem = ({ answered, detail = "", reason }: ValidationFailed): string => {
  switch (reason) {
    case "unreachable":
      return `the callback could not be reached${detail === "" ? "" : `: ${detail}`}`
    case "forbidden_address":
      return "the address of the callback is not allowed"
    case "timeout":
      return "the callback did not answer the validation within 2 seconds"
    case "wrong_status":
      return `the callback answered the validation with status ${answered?.status}. It must answer with status 200.`
    case "wrong_content_type":
      return `the callback answered the validation ${as(answered?.mediaType ?? "")}, it must be application/json`
    case "wrong_body":
      return "the callback did not answer the validation with a JSON object that contains only hub.challenge"
  }
}

const as = (mediaType: string): string => mediaType === "" ? "without a media type" : `as ${mediaType}`

const path = "/api/v1/webhook_subscription"

/** The subscription as a protected resource, with the scope that it needs, if any. */
export const resource: Effect.Effect<Resource, never, HttpConfig> = Effect.zipWith(
  HttpConfig,
  Policy,
  ({ baseUrl }, { webhookScope }) => ({
    url: `${baseUrl}${path}`,
    ...Option.match(webhookScope, { onNone: () => ({}), onSome: (scope) => ({ scopes: [scope] }) })
  })
)

type Needed = Applications | HttpConfig | OAuth | Subscriptions | FailureLimit

/** The route of the subscription. */
export const make: Effect.Effect<Route, never, Needed> = Effect.gen(function*() {
  const applications = yield* Applications
  const subscriptions = yield* Subscriptions
  const policy = yield* Policy
  const { validate } = yield* ApplicationLimits.make
  const withBearer = yield* Bearer.make
  const subscription = yield* resource

  /** Runs `use` if the token gives access to the webhook API. This is checked before everything else. */
  const managing = <E>(
    request: Request,
    use: (access: BearerAccess) => Effect.Effect<Response, E | NotEntitled>
  ) =>
    withBearer(
      request,
      subscription,
      (access) =>
        Effect.zipRight(entitled(access, policy), use(access)).pipe(
          Effect.catchIf(Bearer.isNotEntitled, Bearer.refuseNotEntitled(subscription))
        )
    )

  const create: Endpoint = (request) =>
    managing(request, (access) =>
      Effect.gen(function*() {
        const wanted = yield* readWanted(request)
        if (Either.isLeft(wanted)) return ApiResponse.error(422, "the subscription is not valid", wanted.left)
        const application = yield* applications.find(access.applicationId)
        const created = yield* validate(application, subscriptions.create(access, wanted.right))
        return ApiResponse.json(201, toBody(created))
      }).pipe(Effect.catchTags({
        "@startlist/core/ApplicationNotFound": () => Effect.succeed(Bearer.invalidToken(subscription)),
        "@startlist/core/AlreadySubscribed": () => Effect.succeed(alreadySubscribed),
        "@startlist/core/InvalidCallbackUrl": ({ reason }) =>
          Effect.succeed(error(422, "callback_url", reason, urlProblems[reason])),
        "@startlist/core/ValidationFailed": (failed) =>
          Effect.succeed(error(422, "callback_url", failed.reason, validationProblem(failed)))
      })))

  const show: Endpoint = (request) =>
    managing(request, (access) =>
      subscriptions.find(access).pipe(
        Effect.map((subscription) => ApiResponse.json(200, toBody(subscription))),
        Effect.catchTag("@startlist/core/SubscriptionNotFound", () => Effect.succeed(notFound))
      ))

  const remove: Endpoint = (request) =>
    managing(request, (access) =>
      Effect.flatMap(readId(request), (id) => subscriptions.remove(access, id)).pipe(
        Effect.as(ApiResponse.noContent),
        Effect.catchTag("@startlist/core/SubscriptionNotFound", () => Effect.succeed(notFound))
      ))

  return anyOrigin({
    path,
    methods: { DELETE: remove, GET: show, POST: create },
    refuse: ApiResponse.refuse
  })
})

const nothing = new Uint8Array()

/** The `id` of DELETE. An invalid identifier names no subscription, like a wrong one. */
const readId = ({ body, ...request }: Request) =>
  Either.map(readOnce({ ...request, body: isBlank(body) ? nothing : body }), (parameters) =>
    Option.map(
      Option.fromNullable(get(parameters, "id")),
      (id) => /^[1-9][0-9]{0,15}$/.test(id) ? Number(id) : 0
    ))
