/** `GET /.well-known/oauth-authorization-server`: metadata for client libraries (RFC 8414). */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Policy } from "@startlist/core/Policy"
import { anyOrigin, type Route } from "../Router.ts"
import type { Response } from "../Http.ts"
import { HttpConfig } from "../HttpConfig.ts"
import * as OAuthResponse from "./OAuthResponse.ts"

const clientAuthentication = ["client_secret_post", "client_secret_basic"]

/** The route of the metadata, which are the same for every request. */
export const make: Effect.Effect<Route, never, HttpConfig> = Effect.gen(function*() {
  const { authUrl, issuer } = yield* HttpConfig
  const { scopes } = yield* Policy
  const metadata: Response = OAuthResponse.json(200, {
    issuer: Option.getOrElse(issuer, () => authUrl),
    authorization_endpoint: `${authUrl}/oauth/authorize`,
    token_endpoint: `${authUrl}/oauth/token`,
    revocation_endpoint: `${authUrl}/oauth/revoke`,
    introspection_endpoint: `${authUrl}/oauth/introspect`,
    scopes_supported: scopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: clientAuthentication,
    revocation_endpoint_auth_methods_supported: clientAuthentication,
    introspection_endpoint_auth_methods_supported: clientAuthentication,
    code_challenge_methods_supported: ["S256"],
    ui_locales_supported: ["en", "fr"],
    authorization_response_iss_parameter_supported: Option.isSome(issuer)
  }, { "cache-control": "public, max-age=3600" })

  return anyOrigin({
    path: "/.well-known/oauth-authorization-server",
    methods: { GET: () => Effect.succeed(metadata) },
    refuse: OAuthResponse.refuse
  })
})
