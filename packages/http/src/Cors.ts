/** Which routes pages of other origins may call (the CORS protocol of the Fetch standard). */
import * as Effect from "effect/Effect"
import type { Response } from "./Message.ts"
import type { Endpoint, Route } from "./Router.ts"

/** Of the headers that scripts cannot read by default, those that tell a client what to do. */
const exposed: Response["headers"] = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "Allow, Retry-After, WWW-Authenticate, X-Request-Id"
}

/** Adds the headers with which a page of any origin may read a response. Cookies are never sent along. */
const expose = (response: Response): Response => ({ ...response, headers: { ...response.headers, ...exposed } })

/**
 * Lets pages of any origin call a route, without credentials: answers preflight requests and marks every response,
 * refusals too. For routes that take their rights from a token in a header, or need none.
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
