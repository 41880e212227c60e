/**
 * The operator API as a handler with the same requests, responses and refusals as the protocol endpoints, and its bearer
 * token.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { uninterrupted } from "@startlist/core/Audit"
import { StoreError } from "@startlist/core/Store"
import * as Answer from "@startlist/http/api/ApiResponse"
import { FailureLimit, operatorKeys } from "@startlist/http/FailureLimit"
import { credentials, type Handler, maxBodyBytes, type Request, type Response } from "@startlist/http/Http"
import * as Parameters from "@startlist/http/Parameters"
import * as Refused from "@startlist/http/Refusal"
import * as Router from "@startlist/http/Router"
import * as AuditLog from "../data/AuditLog.ts"
import { shownPath } from "../telemetry/Requests.ts"
import * as Input from "./Input.ts"
import type { Operation } from "./Operation.ts"
import { operations, paths, type Services as OperationServices, untimedPaths } from "./operations.ts"
import { type AnyError, badRequest, toOperatorError } from "./OperatorErrors.ts"

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Whether a request has the operator token. Compared in constant time. */
export const isOperator = (token: Redacted.Redacted<string>): (request: Request) => boolean => {
  const expected = digest(Redacted.value(token))
  return (request) => {
    const given = credentials(request, "bearer")
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

const unauthorized = Answer.error(
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
  Effect.map(FailureLimit, (failures) => ({ address }) =>
    Effect.map(
      failures.take(operatorKeys(address)),
      Option.match({ onNone: () => unauthorized, onSome: (wait) => Answer.refused(Refused.TooMany.after(wait)) })
    ))

/** Services that the operator API needs. */
export type Services = OperationServices | AuditLog.AuditLog | FailureLimit

/** Maximum nesting of a body: more than any request needs. */
const maxDepth = 8

const isDeeperThan = (value: unknown, depth: number): boolean =>
  typeof value === "object" && value !== null &&
  (depth === 0 || Object.values(value).some((inner) => isDeeperThan(inner, depth - 1)))

/** The JSON value of a body. `{}` if the body is empty. */
const jsonBody = (request: Request): Either.Either<unknown, Refused.Refusal> => {
  if (request.body.byteLength > maxBodyBytes) return Either.left(new Refused.TooLarge())
  if (request.body.byteLength === 0) return Either.right({})
  if (Parameters.mediaType(request) !== "application/json") {
    return Either.left(new Refused.UnsupportedMediaType({ accepted: "application/json" }))
  }
  return Either.try({
    try: () => {
      const value: unknown = JSON.parse(Parameters.text(request.body) ?? "")
      if (isDeeperThan(value, maxDepth)) throw new Error("too deep")
      return value
    },
    catch: () => new Refused.Malformed({ what: "JSON body" })
  })
}

/** The query as all other endpoints read it: a parameter without a value counts as omitted, and none repeats. */
const plainQuery = (request: Request): Either.Either<ReadonlyArray<readonly [string, string]>, Refused.Refusal> =>
  Either.map(
    Parameters.readOnce({ ...request, body: new Uint8Array() }),
    ({ values }) => [...values].filter(([, value]) => value !== "")
  )

const plainPath = (captured: ReadonlyArray<string>): Either.Either<ReadonlyArray<string>, Refused.Refusal> =>
  Either.try({ try: () => captured.map(decodeURIComponent), catch: () => new Refused.NotFound() })

/** A parameter in the query of a request whose fields are in its body. Ignored, a filter would change more than is meant. */
const misplaced = (field: string): Answer.Problem => ({
  resource: "Request",
  field,
  code: "unknown_field",
  message: "is not a parameter of this request: fields of a change are in its body"
})

/** Decodes the request of an operation. */
const makeDecode = ({ inPath, method, others }: Operation) => {
  const inOrder = Input.fieldsOf(inPath)
  const kinds = new Map(Input.fieldsOf(others).map(({ kind, name }) => [name, kind]))
  const decodePath = Input.decode(inPath)
  const decodeOthers = Input.decode(others)
  return (request: Request, captured: ReadonlyArray<string>) =>
    Either.gen(function*() {
      const values = yield* plainPath(captured)
      const query = yield* plainQuery(request)
      const body = yield* jsonBody(request)
      const path = decodePath(Object.fromEntries(
        inOrder.map(({ kind, name }, place) => [name, Input.fromText(kind, values[place] ?? "")])
      ))
      const rest = decodeOthers(
        method === "GET"
          ? Object.fromEntries(query.map(([name, text]) => [name, Input.fromText(kinds.get(name) ?? "text", text)]))
          : body
      )
      const strays = method === "GET" ? [] : query.map(([name]) => misplaced(name))
      if (Either.isRight(path) && Either.isRight(rest) && strays.length === 0) return { ...path.right, ...rest.right }
      const problems = [path, rest].flatMap((part) => Either.isLeft(part) ? part.left : [])
      return yield* Either.left(badRequest([...problems, ...strays]))
    })
}

const toResponse = ({ errors, message, status }: AnyError): Response => Answer.error(status, message, errors)

const isRead = ({ method }: Request): boolean => method === "GET" || method === "HEAD"

/** Whether the audit entry of a call was stored with its change. */
const isRecorded = (request: Request, { status }: Response): boolean =>
  status < 400 && !isRead(request) && !untimedPaths.has(request.path)

/** The subject of a call, if its path names one. */
const subjectOf = (path: string): AuditLog.Party => {
  const [, kind, id] = /^\/operator\/v1\/(users|applications)\/([1-9]\d{0,15})(?:\/|$)/.exec(path) ?? []
  return kind === undefined
    ? { type: "operator" }
    : { type: kind === "users" ? "user" : "application", id: Number(id) }
}

const outcomeOf = (status: number): AuditLog.Outcome => status < 400 ? "success" : status < 500 ? "refused" : "failed"

/** The audit entry of a call, including refused calls and calls without the token. */
const entryOf = (
  { address, method, path }: Request,
  status: number,
  more = ""
): Effect.Effect<AuditLog.NewAuditEntry> =>
  Effect.map(DateTime.now, (at) => ({
    at,
    action: status === 401 ? "operator_authentication_failed" : "operator_call",
    actor: { type: status === 401 ? "unknown" : "operator" },
    subject: subjectOf(path),
    address,
    outcome: outcomeOf(status),
    detail: `${method} ${shownPath(path)} ${status}${more}`
  }))

/** Timeout of a read, which leaves a second to answer. */
const deadline = Duration.seconds(4)

/** Whether a request with the token may take longer than others. */
export const isUntimed = (token: Redacted.Redacted<string>): (request: Request) => boolean => {
  const isAllowed = isOperator(token)
  return (request) => untimedPaths.has(request.path) && isAllowed(request)
}

const refusing = Router.fallback(Answer.refuse)

const unserved = Router.make(paths.map((path) => ({ path, methods: {}, refuse: Answer.refuse })), refusing)

/** The route of a path of the operator API, with the names of its fields in braces. */
export const routeOf = (path: string): string | undefined => unserved.routeOf(path)

/** The operator API. Requests below `/operator/` need the token; `otherwise` handles all others. */
export const make = (
  token: Redacted.Redacted<string>,
  otherwise: Handler
): Effect.Effect<Handler, never, Services> =>
  Effect.gen(function*() {
    const services = yield* Effect.context<Services>()
    const log = Context.get(services, AuditLog.AuditLog)
    const isAllowed = isOperator(token)
    const refuseStranger = yield* makeRefuseStranger

    /** A change is stored together with its audit entry, or neither. */
    const together =
      (request: Request, { isUntimed, method, status }: Operation, more: string) =>
      <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> => {
        if (method === "GET") {
          const tooLong = () => new StoreError({ cause: new Error("the call took too long") })
          return Effect.timeoutFail(change, { duration: deadline, onTimeout: tooLong })
        }
        return isUntimed === true
          ? change
          : log.together(Effect.zipLeft(change, Effect.flatMap(entryOf(request, status, more), log.append)))
      }

    const endpointOf = (operation: (typeof operations)[number]): Router.Endpoint => {
      const { audited, before, output, status } = operation
      const decode = makeDecode(operation)
      const encode = Schema.encodeSync(output)
      const perform = (input: Input.Raw, request: Request) => {
        const change = Effect.provide(operation.run(input, request), services).pipe(
          Effect.map((value) => status === 204 ? Answer.noContent : Answer.json(status, encode(value))),
          together(request, operation, audited === undefined ? "" : `: ${audited(input)}`)
        )
        // A client that disconnects does not end it, since what runs before has no audit entry of its own.
        return before === undefined
          ? change
          : uninterrupted(Effect.zipRight(Effect.provide(before(input), services), change))
      }
      return (request, captured) => {
        const decoded = decode(request, captured)
        if (Either.isLeft(decoded)) {
          return decoded.left._tag === "BadRequest" ? Effect.succeed(toResponse(decoded.left)) : decoded.left
        }
        return Effect.catchAll(
          perform(decoded.right, request),
          (error) =>
            error._tag === "@startlist/core/StoreError" ? error : Effect.succeed(toResponse(toOperatorError(error)))
        )
      }
    }

    const served = Router.make(
      paths.map((path) => ({
        path,
        methods: Object.fromEntries(
          operations.filter((operation) => operation.path === path).map((one) => [one.method, endpointOf(one)])
        ),
        refuse: Answer.refuse
      })),
      refusing
    )

    const write = (request: Request, { status }: Response) => Effect.flatMap(entryOf(request, status), log.record)

    return (request) => {
      if (!Router.withoutExtraSlashes(request.path).startsWith("/operator/")) return otherwise(request)
      if (request.refusal !== undefined) return refusing(request)
      return isAllowed(request)
        ? Effect.tap(served(request), (response) =>
          isRecorded(request, response) ? Effect.void : write(request, response))
        // Calls over the limit are not recorded, so that nobody can fill the audit.
        : Effect.tap(refuseStranger(request), (response) =>
          response.status === 401 ? write(request, response) : Effect.void)
    }
  })
