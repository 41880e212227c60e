/**
 * The binding to the Web's `Request` and `Response`, for Hono, Next and other `fetch` servers. Imports nothing of Node.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type { BearerAccess } from "@startlist/core/Grant"
import type { OAuth } from "@startlist/core/OAuth"
import { clientAddress, parseNetworks } from "./ClientAddress.ts"
import type { FailureLimit } from "./FailureLimit.ts"
import * as Guard from "./Guard.ts"
import {
  Body,
  broken,
  parseTarget,
  readBefore,
  readStream,
  refusalOf,
  refusalOfLength,
  type Target,
  tooLate,
  tooSlow
} from "./internal/incoming.ts"
import { type Complete, start as startLayers } from "./internal/fiberRuntime.ts"
import * as Http from "./Http.ts"
import type { Refusal } from "./Refusal.ts"
import { HttpConfig } from "./HttpConfig.ts"

/** Settings of this binding. */
export interface Options {
  /** Timeout for receiving the body, and for handling the request. Default: 30 seconds each. */
  readonly timeout?: Duration.DurationInput
}

/** Information about a request that a Web `Request` does not have. */
export interface Connection {
  /** The address of the peer. Without one, limits count all clients as one. */
  readonly address?: string | undefined
}

/** Answers a request. The promise is never rejected. */
export type WebHandler = (request: Request, connection?: Connection) => Promise<Response>

/**
 * A handler of Web requests.
 *
 * Every request runs in its own fiber, which is interrupted when its signal is aborted. A body over the limit is cut
 * off, and the endpoint refuses it. A body that does not arrive in time gets 408. A request that is refused because of
 * its head is refused without reading its body.
 */
export const handler = (handler: Http.Handler, options: Options = {}): Effect.Effect<WebHandler, never, HttpConfig> =>
  Effect.gen(function*() {
    const { trustedProxies } = yield* HttpConfig
    const runPromiseExit = Runtime.runPromiseExit(yield* Effect.runtime<never>())
    const trusted = parseNetworks(trustedProxies)
    const timeout = Duration.decode(options.timeout ?? "30 seconds")

    /** `None` if the body did not arrive in time. */
    const read = ({ body }: Request) =>
      Effect.tryPromise((signal) => readStream(body, signal)).pipe(
        Effect.timeoutOption(timeout),
        Effect.orElseSucceed(() => Option.none<Body>())
      )

    const answer = (request: Request, connection: Connection) =>
      Effect.gen(function*() {
        if (request.bodyUsed) {
          yield* Effect.logError(readBefore)
          return broken
        }
        const refused = refusalOf([...request.headers].flat()) ?? refusalOfLength(request.headers.get("content-length"))
        const head = { ...parseTarget(request.url), method: request.method }
        // Do not wait for the body if the head decides: it may never arrive.
        const isRead = refused === undefined && request.body !== null && (handler.readsBody?.(head) ?? true)
        const body = isRead ? yield* read(request) : Option.some(new Body())
        if (Option.isNone(body)) return tooLate
        const received = toRequest(request, head, body.value, connection, trusted, refused ?? body.value.refusal)
        return yield* Effect.timeoutTo(Effect.suspend(() => handler(received)), {
          duration: timeout,
          onSuccess: (response) => response,
          onTimeout: () => tooSlow
        })
      }).pipe(
        Effect.catchAllDefect((bug) =>
          Effect.as(Effect.logError("a request failed because of a bug", Cause.die(bug)), broken)
        )
      )

    return async (request, connection = {}) => {
      const exit = await runPromiseExit(answer(request, connection), { signal: request.signal })
      return toResponse(Exit.getOrElse(exit, () => tooSlow))
    }
  })

/**
 * A guard for your own routes. Your route gets requests with a valid token and the access of that token. All others get
 * the responses of `/api/v1/athlete`.
 */
export type WebGuard = (
  requirement: Guard.Requirement,
  handle: (request: Request, access: BearerAccess) => Response | Promise<Response>
) => (request: Request) => Promise<Response>

/** Makes the guard from a check of tokens. */
export const guardWith = (check: Guard.Check): Effect.Effect<WebGuard> =>
  Effect.map(Effect.runtime<never>(), (runtime) => (requirement, handle) => async (request) => {
    const checked = check({ headers: Object.fromEntries(request.headers) }, requirement)
    const { access, refused } = await Runtime.runPromise(runtime)(checked)
    return access === undefined ? toResponse(refused) : handle(request, access)
  })

/** The guard with the check of `Guard.make`. */
export const guard: Effect.Effect<WebGuard, never, OAuth | FailureLimit> = Effect.flatMap(Guard.make, guardWith)

/**
 * The same from layers, for a server without Effect: builds them, and releases them with `dispose`. A worker among them
 * runs until then. The compiler names services that no layer provides.
 */
export const start = async <Provided, E, Needed>(
  mounted: Effect.Effect<Http.Handler, never, Needed>,
  layer: Complete<Provided, E, Needed | HttpConfig>,
  options: Options = {}
): Promise<{ readonly handler: WebHandler; readonly dispose: () => Promise<void> }> => {
  const { dispose, value } = await startLayers(Effect.flatMap(mounted, (made) => handler(made, options)), layer)
  return { handler: value, dispose }
}

const toRequest = (
  request: Request,
  head: Target & Pick<Http.Request, "method">,
  { bytes }: Body,
  { address }: Connection,
  trusted: ReturnType<typeof parseNetworks>,
  refusal: Refusal | undefined
): Http.Request => ({
  ...head,
  headers: Object.fromEntries(request.headers),
  body: bytes,
  address: clientAddress(address, request.headers.get("x-forwarded-for") ?? undefined, trusted),
  ...(refusal === undefined ? {} : { refusal })
})

const utf8 = new TextEncoder()

/**
 * Adds `Content-Length`, so that a server need not send chunks. Responses without content have none (RFC 9110 §8.6).
 */
const toResponse = ({ body, headers, status }: Http.Response): Response => {
  const all = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const one of typeof value === "string" ? [value] : value) all.append(name, one)
  }
  if (!Http.hasContent(status)) return new Response(null, { status, headers: all })
  // The Web wants to be sure that no other thread can change them.
  const bytes = typeof body === "string" ? utf8.encode(body) : new Uint8Array(body)
  if (!all.has("content-length")) all.set("content-length", String(bytes.byteLength))
  return new Response(bytes, { ...alreadyEncoded, status, headers: all })
}

/** Prevents that Cloudflare Workers encode the body again. Other runtimes ignore this. */
const alreadyEncoded = { encodeBody: "manual" }
