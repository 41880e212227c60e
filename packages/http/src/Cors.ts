/** Which routes pages of other origins may call (the CORS protocol of the Fetch standard). */
import * as Effect from "effect/Effect"
import { type Response, withHeaders } from "./Message.ts"
import type { Endpoint, Route } from "./Router.ts"

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
