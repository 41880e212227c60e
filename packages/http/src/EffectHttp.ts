/** The binding to `HttpApp` of `@effect/platform`, for an Effect server with its own routes. */
import * as Cookies from "@effect/platform/Cookies"
import type * as HttpApp from "@effect/platform/HttpApp"
import type * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { BearerAccess } from "@startlist/core/Grant"
import type { OAuth } from "@startlist/core/OAuth"
import * as ApiResponse from "./api/ApiResponse.ts"
import { clientAddress, parseNetworks } from "./ClientAddress.ts"
import type { FailureLimit } from "./FailureLimit.ts"
import * as Guard from "./Guard.ts"
import { Body, broken, parseTarget, readBefore, refusalOf, tooLate, tooSlow } from "./internal/incoming.ts"
import * as Http from "./Http.ts"
import type { Refusal } from "./Refusal.ts"
import { HttpConfig } from "./HttpConfig.ts"

/** Settings of this binding. */
export interface Options {
  /** Timeout for receiving the body, and for handling the request. Default: 30 seconds each. */
  readonly timeout?: Duration.DurationInput
}

/**
 * The handler as an app, for `HttpRouter.mountApp`, `HttpServer.serve` or a route of an `HttpLayerRouter`. The path of a
 * request is the one that the client sent, wherever the app is mounted.
 *
 * Applications may send their secrets in queries, so do not record queries: switch off the platform's request log
 * (`disableLogger`) and its tracer (`HttpMiddleware.withTracerDisabledWhen`).
 *
 * The server interrupts its fiber when the client disconnects. A body over the limit is cut off, and the endpoint
 * refuses it. A body that breaks off or does not arrive in time gets 408.
 */
export const app = (
  handler: Http.Handler,
  options: Options = {}
): Effect.Effect<HttpApp.Default<never, Scope.Scope>, never, HttpConfig> =>
  Effect.map(HttpConfig, ({ trustedProxies }) => {
    const trusted = parseNetworks(trustedProxies)
    const timeout = Duration.decode(options.timeout ?? "30 seconds")
    return Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* Effect.timeoutOption(readBody(request), timeout).pipe(
        Effect.orElseSucceed(() => Option.none<Body>())
      )
      if (Option.isNone(body)) return toResponse(tooLate, true)
      const { bytes, refusal = refusalOf(linesOf(request)) } = body.value
      // A stream that another reader has consumed ends immediately.
      if (bytes.byteLength === 0 && Number(request.headers["content-length"] ?? 0) > 0) {
        yield* Effect.logError(readBefore)
        return toResponse(broken, true)
      }
      const response = yield* Effect.timeoutTo(
        Effect.suspend(() => handler(toRequest(request, bytes, trusted, refusal))),
        {
          duration: timeout,
          onSuccess: (response) => response,
          onTimeout: () => tooSlow
        }
      )
      return toResponse(response, body.value.refusal !== undefined || bytes.byteLength > Http.maxBodyBytes)
    }).pipe(
      Effect.catchAllDefect((bug) =>
        Effect.as(Effect.logError("a request failed because of a bug", Cause.die(bug)), toResponse(broken, true))
      ),
      // The server makes an app uninterruptible unless it says otherwise.
      Effect.interruptible
    )
  })

/**
 * A guard for your own routes, as an app or as the handler of an endpoint of an `HttpApi`. Your route gets requests
 * with a valid token and the access of that token. All others get the responses of `/api/v1/athlete`.
 */
export const guard = <A, E, R>(
  requirement: Guard.Requirement,
  use: (access: BearerAccess) => Effect.Effect<A, E, R>
): Effect.Effect<
  A | HttpServerResponse.HttpServerResponse,
  E,
  R | OAuth | FailureLimit | HttpServerRequest.HttpServerRequest
> =>
  Effect.gen(function*() {
    const check = yield* Guard.make
    const request = yield* HttpServerRequest.HttpServerRequest
    const refusal = refusalOf(linesOf(request))
    if (refusal !== undefined) return toResponse(ApiResponse.refused(refusal), false)
    const { access, refused } = yield* check(request, requirement)
    return access === undefined ? toResponse(refused, false) : yield* use(access)
  })

/**
 * Reads the body up to the limit. Ending its stream would close the connection, which is still needed for the response:
 * so the reader waits for the end of the request.
 */
const readBody = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Body, HttpServerError.RequestError, Scope.Scope> =>
  Effect.gen(function*() {
    const body = new Body()
    const enough = yield* Deferred.make<void, HttpServerError.RequestError>()
    const reading = Stream.runForEach(
      request.stream,
      (chunk) => body.add(chunk) ? Effect.void : Effect.zipRight(Deferred.succeed(enough, undefined), Effect.never)
    )
    yield* Effect.forkScoped(Effect.intoDeferred(reading, enough))
    yield* Deferred.await(enough)
    return body
  })

/** Header names and values in turn: on Node as they were sent, elsewhere as the server joined them. */
const linesOf = ({ headers, source }: HttpServerRequest.HttpServerRequest): ReadonlyArray<string> =>
  typeof source === "object" && source !== null && "rawHeaders" in source && Array.isArray(source.rawHeaders)
    ? source.rawHeaders
    : Object.entries(headers).flat()

const toRequest = (
  request: HttpServerRequest.HttpServerRequest,
  body: Uint8Array,
  trusted: ReturnType<typeof parseNetworks>,
  refusal: Refusal | undefined
): Http.Request => ({
  ...parseTarget(request.originalUrl),
  method: request.method,
  headers: request.headers,
  body,
  address: clientAddress(Option.getOrUndefined(request.remoteAddress), request.headers["x-forwarded-for"], trusted),
  ...(refusal === undefined ? {} : { refusal })
})

const utf8 = new TextEncoder()

/** `last` closes the connection: the unread rest of a body cannot be distinguished from the next request. */
const toResponse = (
  { body, headers, status }: Http.Response,
  last: boolean
): HttpServerResponse.HttpServerResponse => {
  const { "set-cookie": setCookie = [], ...others } = headers
  const options = {
    status,
    headers: last ? { ...others, connection: "close" } : others,
    cookies: Cookies.fromSetCookie(setCookie)
  }
  return body === ""
    ? HttpServerResponse.empty(options)
    : HttpServerResponse.uint8Array(typeof body === "string" ? utf8.encode(body) : body, options)
}
