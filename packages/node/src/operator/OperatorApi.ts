/** The operator API as a handler with the same requests, responses and refusals as the protocol endpoints. */
import * as HttpApi from "@effect/platform/HttpApi"
import type { HttpApiEndpoint } from "@effect/platform/HttpApiEndpoint"
import type { HttpMethod } from "@effect/platform/HttpMethod"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
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
import { Deliveries, maxCancelled } from "@startlist/core/Deliveries"
import type { OAuth } from "@startlist/core/OAuth"
import type { PersonalData } from "@startlist/core/PersonalData"
import type { Registrations } from "@startlist/core/Registrations"
import { StoreError } from "@startlist/core/Store"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import type { UserStore } from "@startlist/core/User"
import * as Answer from "@startlist/http/api/ApiResponse"
import { recorded } from "@startlist/http/Audit"
import {
  type Handler,
  maxBodyBytes,
  type Request as PlainRequest,
  type Response as PlainResponse
} from "@startlist/http/Http"
import * as Parameters from "@startlist/http/Parameters"
import * as Refused from "@startlist/http/Refusal"
import * as Router from "@startlist/http/Router"
import type { Endpoint, Route } from "@startlist/http/Router"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import * as AuditLog from "../data/AuditLog.ts"
import type { AccountStore } from "../accounts/AccountStore.ts"
import type { Backup } from "../data/Backup.ts"
import type { Registrar } from "../accounts/LocalAccounts.ts"
import type { AccountErasure } from "../accounts/AccountErasure.ts"
import { isOperator, makeRefuseStranger } from "./OperatorToken.ts"
import { shownPath } from "../telemetry/RequestLog.ts"
import { Api, EndsSubscription } from "./Api.ts"
import * as Handlers from "./Handlers.ts"
import { backups } from "./Paths.ts"
import type { Problem } from "@startlist/http/description/ProtocolApi"

/** Maximum nesting of a body: more than any request needs. */
const maxDepth = 8

const isDeeperThan = (value: unknown, depth: number): boolean =>
  typeof value === "object" && value !== null &&
  (depth === 0 || Object.values(value).some((inner) => isDeeperThan(inner, depth - 1)))

/** The JSON text of a body. `{}` if the body is empty. */
const jsonBody = (request: PlainRequest): Either.Either<string, Refused.Refusal> => {
  if (request.body.byteLength > maxBodyBytes) return Either.left(new Refused.TooLarge())
  if (request.body.byteLength === 0) return Either.right("{}")
  if (Parameters.mediaType(request) !== "application/json") {
    return Either.left(new Refused.UnsupportedMediaType({ accepted: "application/json" }))
  }
  return Either.try({
    try: () => {
      const json = Parameters.text(request.body) ?? ""
      if (isDeeperThan(JSON.parse(json), maxDepth)) throw new Error("too deep")
      return json
    },
    catch: () => new Refused.Malformed({ what: "JSON body" })
  })
}

/** The path of a field, such as `reasons.0`. */
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
 * Replaces the fixed error body of `HttpApi` by ours. The first issue of a field has its own message; the others are
 * about `null` and absence, which are also allowed.
 */
const rewordDecodeError = (body: string): Option.Option<PlainResponse> =>
  Option.map(Schema.decodeOption(Schema.parseJson(HttpApiDecodeError))(body), ({ issues }) => {
    const errors = Arr.dedupeWith(issues.map(toProblem), (a, b) => a.field === b.field)
    const message = errors.map((problem) => `${problem.field} ${problem.message}`.trim()).join("; ")
    return Answer.error(400, message, errors)
  })

const isRead = ({ method }: PlainRequest): boolean => method === "GET" || method === "HEAD"

/** Whether the audit entry of a call was stored with its change. */
const isRecorded = (request: PlainRequest, { status }: PlainResponse): boolean =>
  status < 400 && !isRead(request) && request.path !== backups

/** The query as all other endpoints read it: a parameter without a value counts as omitted, and none repeats. */
const plainQuery = (request: PlainRequest): Either.Either<string, Refused.Refusal> =>
  Either.map(
    Parameters.readOnce({ ...request, body: new Uint8Array() }),
    ({ values }) => Parameters.write([...values].filter(([, value]) => value !== ""))
  )

const toWebRequest = (
  request: PlainRequest,
  { body, query }: { readonly body: string; readonly query: string }
): Request =>
  new Request(
    `http://operator.invalid${request.path}?${query}`,
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

type OperatorEndpoint = Pick<HttpApiEndpoint<string, HttpMethod>, "annotations" | "method" | "path">

/** The endpoints of each path. Paths have the form of the router: `/users/{id}`. */
const endpointsByPath = (): ReadonlyMap<string, ReadonlyArray<OperatorEndpoint>> => {
  const found = new Map<string, ReadonlyArray<OperatorEndpoint>>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const path = endpoint.path.replaceAll(/:(\w+)/g, "{$1}")
      found.set(path, [...found.get(path) ?? [], endpoint])
    }
  })
  return found
}

/** The subject of a call, if its path names one. */
const subjectOf = (path: string): AuditLog.Party => {
  const [, kind, id] = /^\/operator\/v1\/(users|applications)\/([1-9]\d{0,15})(?:\/|$)/.exec(path) ?? []
  return kind === undefined
    ? { type: "operator" }
    : { type: kind === "users" ? "user" : "application", id: Number(id) }
}

const outcomeOf = (status: number): AuditLog.Outcome => status < 400 ? "success" : status < 500 ? "refused" : "failed"

/** The audit entry of a call, including refused calls and calls without the token. */
const toEntry = (
  { address, method, path }: PlainRequest,
  { status }: PlainResponse,
  at: DateTime.Utc
): AuditLog.NewAuditEntry => ({
  at,
  action: status === 401 ? "operator_authentication_failed" : "operator_call",
  actor: { type: status === 401 ? "unknown" : "operator" },
  subject: subjectOf(path),
  address,
  outcome: outcomeOf(status),
  detail: `${method} ${shownPath(path)} ${status}`
})

/** A refused call: its changes are rolled back, and only its audit entry is stored. */
class Undone extends Data.TaggedError("Undone")<{ readonly response: PlainResponse }> {}

/** Timeout of a read, which leaves a second to answer. */
const deadline = Duration.seconds(4)

/** Services that the operator API needs. */
export type Services =
  | AccountStore
  | Applications
  | ApplicationStore
  | AuditLog.AuditLog
  | Deliveries
  | AccountErasure
  | Backup
  | OAuth
  | PersonalData
  | Registrar
  | Registrations
  | Subscriptions
  | FailureLimit
  | UserStore

/** The operator API under `/operator/v1`. Requests need the token. */
export const make = (token: Redacted.Redacted<string>): Effect.Effect<Handler, never, Services | Scope.Scope> =>
  Effect.gen(function*() {
    // Its own memo map: with a shared one, all services in this process would share these handlers.
    const app = yield* HttpLayerRouter.toHttpEffect(
      HttpLayerRouter.addHttpApi(Api).pipe(Layer.provide(Handlers.layer), Layer.provide(HttpServer.layerContext))
    ).pipe(Effect.provideServiceEffect(Layer.CurrentMemoMap, Layer.makeMemoMap))
    const log = yield* AuditLog.AuditLog
    const deliveries = yield* Deliveries
    const isAllowed = isOperator(token)
    const refuseStranger = yield* makeRefuseStranger

    const serve: Endpoint = (request) =>
      Effect.flatMap(Either.all({ body: jsonBody(request), query: plainQuery(request) }), (plain) =>
        app.pipe(
          Effect.provideService(
            HttpServerRequest.HttpServerRequest,
            HttpServerRequest.fromWeb(toWebRequest(request, plain)).modify({ remoteAddress: request.address })
          ),
          Effect.scoped,
          Effect.flatMap((response) => fromWebResponse(HttpServerResponse.toWeb(response))),
          Effect.catchTag("RouteNotFound", () => new Refused.NotFound())
        ))

    const entryOf = (request: PlainRequest, response: PlainResponse) =>
      Effect.map(DateTime.now, (at) => toEntry(request, response, at))

    const write = (request: PlainRequest, response: PlainResponse) =>
      Effect.flatMap(entryOf(request, response), log.record)

    /** Calls over the limit are not recorded, so that nobody can fill the audit. */
    const refuse = (request: PlainRequest) =>
      Effect.tap(
        refuseStranger(request),
        (response) => response.status === 401 ? write(request, response) : Effect.void
      )

    /** Stores a change together with its audit entry, or neither. */
    const change: Endpoint = (request) =>
      Effect.gen(function*() {
        const response = yield* serve(request, [])
        if (response.status >= 400) return yield* new Undone({ response })
        yield* log.append(yield* entryOf(request, response))
        return response
      }).pipe(log.together, Effect.catchTag("Undone", ({ response }) => Effect.succeed(response)))

    /**
     * Cancels the pending deliveries in parts before the change: each part is a transaction, because one for all would
     * take too long. A client that disconnects does not end it, since the parts have no audit entry of their own.
     */
    const ending: Endpoint = (request, [id = ""]) => {
      const shortened = Effect.forEach(
        Option.toArray(Parameters.parseClientId(id)),
        (applicationId) =>
          Effect.repeat(deliveries.cancelPending(applicationId), { while: (cancelled) => cancelled === maxCancelled })
      )
      return jsonBody(request).pipe(Effect.zipRight(shortened), Effect.zipRight(change(request, [])), recorded)
    }

    const read: Endpoint = (request) =>
      Effect.timeoutFail(serve(request, []), {
        duration: deadline,
        onTimeout: () => new StoreError({ cause: new Error("the call took too long") })
      })

    const endpointOf = ({ annotations, method, path }: OperatorEndpoint): Endpoint => {
      if (path === backups) return serve
      if (method === "GET") return read
      return Context.get(annotations, EndsSubscription) ? ending : change
    }
    const routes = [...endpointsByPath()].map(([path, endpoints]): Route => ({
      path,
      methods: Object.fromEntries(endpoints.map((endpoint) => [endpoint.method, endpointOf(endpoint)])),
      refuse: Answer.refuse
    }))
    const served = Router.make(routes, Router.fallback(Answer.refuse))

    return (request) =>
      isAllowed(request)
        ? Effect.tap(served(request), (response) =>
          isRecorded(request, response) ? Effect.void : write(request, response))
        : refuse(request)
  })
