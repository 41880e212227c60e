/** Routes requests to endpoints by path and method. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { StoreError } from "@startlist/core/Store"
import * as Compression from "./Compression.ts"
import { type Handler, hasContent, header, type Request, type Response, withHeaders } from "./Http.ts"
import { ExtraSlashes, MethodNotAllowed, NotFound, type Refusal, UnsupportedEncoding } from "./Refusal.ts"

/** Answers the requests of one path and method. `captured` are the values of the `{…}` segments, still encoded. */
export type Endpoint = (
  request: Request,
  captured: ReadonlyArray<string>
) => Effect.Effect<Response, Refusal | StoreError>

/** Formats a refusal for a family of endpoints. */
export type Refuse = (request: Request, error: Refusal | StoreError) => Response

/** The endpoints at one path. */
export interface Route {
  /** Literal segments, and `{name}` for any one segment: `/account/applications/{client_id}/revoke`. */
  readonly path: string
  /** By method. `HEAD` is added where there is a `GET`. */
  readonly methods: Readonly<Record<string, Endpoint>>
  /** The format of all refusals at this path. */
  readonly refuse: Refuse
  /** Whether it is served even while the server is overloaded, as a health check is. Default: no. */
  readonly always?: boolean
  /** Whether its responses are compressed, as `Compression` describes. Default: no. */
  readonly isCompressed?: boolean
}

/** Answers with 404, in the format of `refuse`. */
export const fallback = (refuse: Refuse): Handler =>
  Object.assign(
    (request: Request) => Effect.succeed(refuse(request, request.refusal ?? new NotFound())),
    { readsBody: () => false }
  )

/** A handler that also finds the route of a path, for metrics and spans. */
export interface Router extends Handler {
  /** The route's own path (`/account/applications/{client_id}/revoke`), or `undefined`. */
  readonly routeOf: (path: string) => string | undefined
}

/** A path without doubled slashes, and without one at its end. */
export const withoutExtraSlashes = (path: string): string => path.replaceAll(/\/{2,}/g, "/").replace(/(.)\/$/, "$1")

/**
 * One handler for all routes. Requests without a route go to `otherwise`. If two routes have the same path, the later
 * one wins: an embedder can replace a page. A path with too many slashes is refused as its route would: the client can
 * read that. `base` stands before all paths in the addresses of this service.
 */
export const make = (routes: ReadonlyArray<Route>, otherwise: Handler, base = ""): Router => {
  const compress = Compression.make()
  const served = routes.map((route) => ({ route, handle: toHandler(route, compress) }))
  const exact = new Map(served.filter(({ route }) => !route.path.includes("{")).map((one) => [one.route.path, one]))
  const patterns = served
    .filter(({ route }) => route.path.includes("{"))
    .map((one) => ({ ...one, expression: toExpression(one.route.path) }))
    .reverse()
  const find = (path: string) => exact.get(path) ?? patterns.find(({ expression }) => expression.test(path))
  const handler: Handler = (request) => {
    const found = exact.get(request.path)
    if (found !== undefined) return found.handle(request, [])
    for (const { expression, handle } of patterns) {
      const match = expression.exec(request.path)
      if (match !== null) return handle(request, match.slice(1))
    }
    const meant = withoutExtraSlashes(request.path)
    const near = meant === request.path ? undefined : find(meant)
    return near === undefined
      ? otherwise(request)
      : Effect.succeed(near.route.refuse(request, request.refusal ?? new ExtraSlashes({ meant: base + meant })))
  }
  const routeOf = (path: string) => find(path)?.route.path
  // Without a route, `otherwise` may need the body.
  const methods = new Set(
    routes.flatMap(({ methods, path }) => methodsOf(methods).map((method) => `${method} ${path}`))
  )
  return Object.assign(handler, {
    routeOf,
    readsBody: ({ method, path }: Pick<Request, "method" | "path">) => {
      const route = routeOf(path)
      return route === undefined ? otherwise.readsBody?.({ method, path }) ?? true : methods.has(`${method} ${route}`)
    }
  })
}

const toExpression = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`).replaceAll(/\{[^{}]*\}/g, "([^/]+)")}$`)

/** The response to a HEAD is made of the response to the GET. */
const methodsOf = (methods: Route["methods"]): ReadonlyArray<string> =>
  "GET" in methods ? ["HEAD", ...Object.keys(methods)] : Object.keys(methods)

/** The content coding of a body that an endpoint can read. */
const isIdentity = /^(?:identity)?$/i

const encoded = new UnsupportedEncoding()

const toHandler = (
  { always = false, isCompressed = false, methods, path, refuse }: Route,
  compress: Compression.Compress
) => {
  const endpoints = new Map(Object.entries(methods))
  const get = endpoints.get("GET")
  if (get !== undefined) endpoints.set("HEAD", get)
  const notAllowed = new MethodNotAllowed({ allow: [...endpoints.keys()].sort().join(", ") })

  const answer = (request: Request, captured: ReadonlyArray<string>): Effect.Effect<Response> => {
    const { refusal } = request
    if (refusal !== undefined && !(always && refusal._tag === "@startlist/http/Busy")) {
      return Effect.succeed(refuse(request, refusal))
    }
    if (!isIdentity.test(header(request, "content-encoding") ?? "")) return Effect.succeed(refuse(request, encoded))
    const endpoint = endpoints.get(request.method)
    if (endpoint === undefined) return Effect.succeed(refuse(request, notAllowed))
    return Effect.catchAll(endpoint(request, captured), (error) =>
      error._tag === "@startlist/core/StoreError"
        ? Effect.as(
          Effect.logError(
            `${path}: the store ${error.isRefused === true ? "refused a value" : "is unavailable"}`,
            Cause.fail(error)
          ),
          refuse(request, error)
        )
        : Effect.succeed(refuse(request, error)))
  }
  const compressed = isCompressed
    ? (request: Request, captured: ReadonlyArray<string>) =>
      Effect.flatMap(answer(request, captured), (response) => compress(request, response))
    : answer

  return (request: Request, captured: ReadonlyArray<string>): Effect.Effect<Response> =>
    request.method === "HEAD" ? Effect.map(compressed(request, captured), withoutBody) : compressed(request, captured)
}

const utf8 = new TextEncoder()

const lengthOf = (body: Response["body"]): number =>
  typeof body === "string" ? utf8.encode(body).byteLength : body.byteLength

/** The response to a HEAD is that to the GET, without its body (RFC 9110 §9.3.2). */
const withoutBody = (response: Response): Response =>
  hasContent(response.status)
    ? {
      ...response,
      headers: { ...response.headers, "content-length": String(lengthOf(response.body)) },
      body: ""
    }
    : response

/** Response headers that clients need, but that scripts cannot read by default. */
const exposed: Response["headers"] = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "Allow, Retry-After, WWW-Authenticate, X-Request-Id"
}

/** Lets pages of any origin read a response. Cookies are never sent. */
const expose = (response: Response): Response => withHeaders(response, exposed)

/**
 * Lets pages of any origin call a route without cookies: answers preflight requests and marks every response, including
 * refusals. For routes that need a token in a header or no credentials.
 */
export const anyOrigin = (route: Route): Route => {
  const methods = Object.entries(route.methods).map(([method, endpoint]): [string, Endpoint] => [
    method,
    (request, captured) => Effect.map(endpoint(request, captured), expose)
  ])
  const allowed = [...Object.keys(route.methods), ...("GET" in route.methods ? ["HEAD"] : [])].sort().join(", ")
  const preflight: Response = {
    status: 204,
    headers: {
      ...exposed,
      "access-control-allow-methods": allowed,
      // The wildcard does not include Authorization.
      "access-control-allow-headers": "Authorization, *",
      "access-control-max-age": "86400",
      "cache-control": "no-store"
    },
    body: ""
  }
  return {
    ...route,
    methods: { ...Object.fromEntries(methods), OPTIONS: () => Effect.succeed(preflight) },
    refuse: (request, error) => expose(route.refuse(request, error))
  }
}
