/** The operator API as routes beside the protocol endpoints: same plain requests and responses, same refusals. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Arr from "effect/Array"
import * as Data from "effect/Data"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import type { ApplicationStore } from "@startlist/core/Application"
import type { Applications } from "@startlist/core/Applications"
import type { Deliveries } from "@startlist/core/Deliveries"
import type { OAuth } from "@startlist/core/OAuth"
import type { Registrations } from "@startlist/core/Registrations"
import { StoreError } from "@startlist/core/Store"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import type { UserStore } from "@startlist/core/User"
import * as Answer from "@startlist/http/api/ApiResponse"
import {
  type Handler,
  header,
  maxBodyBytes,
  type Request as PlainRequest,
  type Response as PlainResponse
} from "@startlist/http/Message"
import * as Refused from "@startlist/http/Refusal"
import * as Router from "@startlist/http/Router"
import type { Endpoint, Route } from "@startlist/http/Router"
import type { Throttle } from "@startlist/http/Throttle"
import * as AuditLog from "../AuditLog.ts"
import type { AccountStore } from "../AccountStore.ts"
import type { Backup } from "../Backup.ts"
import type { Registrar } from "../LocalAccounts.ts"
import type { PersonalData } from "../PersonalData.ts"
import { isOperator, makeRefuseStranger } from "../OperatorToken.ts"
import { Api } from "./Api.ts"
import * as Handlers from "./Handlers.ts"
import type { Problem } from "@startlist/http/ProtocolApi"

const strictUtf8 = new TextDecoder("utf-8", { fatal: true })

/** Deeper nesting than any request of this API needs. */
const maxDepth = 8

const isDeeperThan = (value: unknown, depth: number): boolean =>
  typeof value === "object" && value !== null &&
  (depth === 0 || Object.values(value).some((inner) => isDeeperThan(inner, depth - 1)))

/** The JSON text of a body, `{}` if there is none. */
const jsonBody = (request: PlainRequest): Either.Either<string, Refused.Refusal> => {
  if (request.body.byteLength > maxBodyBytes) return Either.left(new Refused.TooLarge())
  if (request.body.byteLength === 0) return Either.right("{}")
  if (!/^application\/json *(?:;|$)/i.test(header(request, "content-type") ?? "")) {
    return Either.left(new Refused.UnsupportedMediaType({ accepted: "application/json" }))
  }
  return Either.try({
    try: () => {
      const text = strictUtf8.decode(request.body)
      if (isDeeperThan(JSON.parse(text), maxDepth)) throw new Error("too deep")
      return text
    },
    catch: () => new Refused.Malformed({ what: "JSON body" })
  })
}

/** Where a field is: `reasons.0`; without the place of its value in a union or refinement. */
const toField = (path: ReadonlyArray<PropertyKey>): string => path.map(String).join(".")

const toProblem = (issue: HttpApiDecodeError["issues"][number]): Problem => {
  const problem = (code: string, message: string) => ({
    resource: "Request",
    field: toField(issue.path),
    code,
    message
  })
  if (issue.path.length === 0) return problem("invalid", "the body must be a JSON object")
  switch (issue._tag) {
    case "Missing":
      return problem("missing", "is missing")
    case "Unexpected":
      return problem("unknown_field", "is not a field or parameter of this request")
    default:
      return problem("invalid", issue.message)
  }
}

/**
 * `HttpApi` has one fixed body for what it cannot decode; here it becomes the one of this API. Of the issues of one
 * field the first is its own message, the others tell of `null` and absence, which would have been good too.
 */
const rewordDecodeError = (body: string): Option.Option<PlainResponse> =>
  Option.map(Schema.decodeOption(Schema.parseJson(HttpApiDecodeError))(body), ({ issues }) => {
    const errors = Arr.dedupeWith(issues.map(toProblem), (a, b) => a.field === b.field)
    const message = errors.map((problem) => `${problem.field} ${problem.message}`.trim()).join("; ")
    return Answer.error(400, message, errors)
  })

const isRead = ({ method }: PlainRequest): boolean => method === "GET" || method === "HEAD"

/** A parameter without a value counts as absent, as it does everywhere here. */
const withoutEmpty = (query: string): string =>
  new URLSearchParams([...new URLSearchParams(query)].filter(([, value]) => value !== "")).toString()

const toWebRequest = (request: PlainRequest, body: string): Request =>
  new Request(
    `http://operator.invalid${request.path}?${withoutEmpty(request.query)}`,
    isRead(request)
      ? { method: "GET" }
      : { method: request.method, body, headers: { "content-type": "application/json" } }
  )

const fromWebResponse = (response: Response): Effect.Effect<PlainResponse> =>
  Effect.map(Effect.promise(() => response.text()), (body) => {
    const reworded = response.status === 400 ? rewordDecodeError(body) : Option.none()
    return Option.getOrElse(reworded, (): PlainResponse => ({
      status: response.status,
      headers: {
        ...Answer.noContent.headers,
        ...(body === "" ? {} : { "content-type": "application/json;charset=UTF-8" }),
        ...(response.status === 503 ? { "retry-after": "5" } : {})
      },
      body
    }))
  })

/** `/users/:id` as the router writes it, `/users/{id}`, with the methods that are served there. */
const methodsByPath = (): ReadonlyMap<string, ReadonlyArray<string>> => {
  const found = new Map<string, ReadonlyArray<string>>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const path = endpoint.path.replaceAll(/:(\w+)/g, "{$1}")
      found.set(path, [...found.get(path) ?? [], endpoint.method])
    }
  })
  return found
}

/** Whom a call is about, as far as its path tells. */
const subjectOf = (path: string): AuditLog.Party => {
  const [, kind, id] = /^\/operator\/v1\/(users|applications)\/([1-9]\d{0,15})(?:\/|$)/.exec(path) ?? []
  return kind === undefined
    ? { type: "operator" }
    : { type: kind === "users" ? "user" : "application", id: Number(id) }
}

const outcomeOf = (status: number): AuditLog.Outcome => status < 400 ? "success" : status < 500 ? "refused" : "failed"

/** One call as a line of the audit: also one that was refused, or came without the token. */
const toLine = (
  { address, method, path }: PlainRequest,
  { status }: PlainResponse,
  at: DateTime.Utc
): AuditLog.NewLine => ({
  at,
  action: status === 401 ? "operator_authentication_failed" : "operator_call",
  actor: { type: status === 401 ? "unknown" : "operator" },
  subject: subjectOf(path),
  address,
  outcome: outcomeOf(status),
  detail: `${method} ${path} ${status}`
})

/** A call that is not done: nothing of it is kept but its line in the audit. */
class Undone extends Data.TaggedError("Undone")<{ readonly response: PlainResponse }> {}

/** How long a call takes at most. A backup copies files, and ends when they are copied. */
const deadline = Duration.millis(4500)

const endsInTime = ({ path }: PlainRequest): boolean => path !== "/operator/v1/backups"

/** What the operator API works with. */
export type Services =
  | AccountStore
  | Applications
  | ApplicationStore
  | AuditLog.AuditLog
  | Deliveries
  | PersonalData
  | Backup
  | OAuth
  | Registrar
  | Registrations
  | Subscriptions
  | Throttle
  | UserStore

/** The operator API under `/operator/v1`; it lets in whoever carries the token. */
export const make = (token: Redacted.Redacted<string>): Effect.Effect<Handler, never, Services | Scope.Scope> =>
  Effect.gen(function*() {
    // Without a memo map of its own it would share one, and the handlers, with every other service in this process.
    const app = yield* HttpLayerRouter.toHttpEffect(
      HttpLayerRouter.addHttpApi(Api).pipe(Layer.provide(Handlers.layer), Layer.provide(HttpServer.layerContext))
    ).pipe(Effect.provideServiceEffect(Layer.CurrentMemoMap, Layer.makeMemoMap))
    const log = yield* AuditLog.AuditLog
    const isAllowed = isOperator(token)
    const refuseStranger = yield* makeRefuseStranger

    const serve: Endpoint = (request) =>
      Effect.flatMap(jsonBody(request), (body) =>
        app.pipe(
          Effect.provideService(
            HttpServerRequest.HttpServerRequest,
            HttpServerRequest.fromWeb(toWebRequest(request, body))
          ),
          Effect.scoped,
          Effect.flatMap((response) => fromWebResponse(HttpServerResponse.toWeb(response))),
          Effect.catchTag("RouteNotFound", () => new Refused.NotFound())
        ))

    const lineOf = (request: PlainRequest, response: PlainResponse) =>
      Effect.map(DateTime.now, (at) => toLine(request, response, at))

    const write = (request: PlainRequest, response: PlainResponse) =>
      Effect.flatMap(
        lineOf(request, response),
        (line) => Effect.provideService(AuditLog.record(line), AuditLog.AuditLog, log)
      )

    /** Calls above the limit are not recorded: nobody can fill the audit. */
    const refuse = (request: PlainRequest) =>
      Effect.tap(
        refuseStranger(request),
        (response) => response.status === 401 ? write(request, response) : Effect.void
      )

    const routes = [...methodsByPath()].map(([path, methods]): Route => ({
      path,
      methods: Object.fromEntries(methods.map((method) => [method, serve])),
      refuse: Answer.refuse
    }))
    const served = Router.make(routes, Router.fallback(Answer.refuse))
    const answered = (request: PlainRequest, response: PlainResponse) => Effect.as(write(request, response), response)

    /** A call that changes something is kept together with its line in the audit, or not at all. */
    const change = (request: PlainRequest) => {
      const kept = Effect.gen(function*() {
        const response = yield* served(request)
        if (response.status >= 400) return yield* new Undone({ response })
        yield* log.append(yield* lineOf(request, response))
        return response
      })
      return Effect.catchTags(log.together(kept), {
        Undone: ({ response }) => answered(request, response),
        StoreError: (error) => answered(request, Answer.refuse(request, error))
      })
    }

    const read = (request: PlainRequest) =>
      served(request).pipe(
        endsInTime(request)
          ? Effect.timeoutTo({
            duration: deadline,
            onSuccess: (response) => response,
            onTimeout: () => Answer.refuse(request, new StoreError({ cause: new Error("the call took too long") }))
          })
          : (response) => response,
        Effect.tap((response) => write(request, response))
      )

    return (request) =>
      !isAllowed(request) ? refuse(request) : isRead(request) || !endsInTime(request) ? read(request) : change(request)
  })
