/** The routes of the documented API (requirements §4.2 to §4.9), and its metadata (RFC 8414, RFC 9728). */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Platform } from "@startlist/core/Platform"
import { advertised, Policy } from "@startlist/core/Policy"
import { anyOrigin, fallback, type Refuse, type Route, withoutExtraSlashes } from "./Router.ts"
import type { Handler, Response } from "./Http.ts"
import { HttpConfig, type Resource, resourceMetadataPath } from "./HttpConfig.ts"
import * as OAuthResponse from "./oauth/OAuthResponse.ts"
import type { Applications } from "@startlist/core/Applications"
import type { Audit } from "@startlist/core/Audit"
import type { OAuth } from "@startlist/core/OAuth"
import type { Secrets } from "@startlist/core/Secrets"
import type { Subscriptions } from "@startlist/core/Subscriptions"
import type { UserStore } from "@startlist/core/User"
import * as Athlete from "./api/Athlete.ts"
import * as WebhookEvents from "./api/WebhookEvents.ts"
import * as WebhookSubscription from "./api/WebhookSubscription.ts"
import * as Introspect from "./oauth/Introspect.ts"
import * as Revoke from "./oauth/Revoke.ts"
import * as Token from "./oauth/Token.ts"
import * as ApiResponse from "./api/ApiResponse.ts"
import type { FailureLimit } from "./FailureLimit.ts"

const clientAuthentication = ["client_secret_post", "client_secret_basic"]

/** `GET /.well-known/oauth-authorization-server`. */
const makeMetadata: Effect.Effect<Route, never, HttpConfig> = Effect.gen(function*() {
  const { authUrl, issuer } = yield* HttpConfig
  const policy = yield* Policy
  const { guide, privacyPolicy } = yield* Platform
  const metadata: Response = OAuthResponse.json(200, {
    issuer: Option.getOrElse(issuer, () => authUrl),
    authorization_endpoint: `${authUrl}/oauth/authorize`,
    token_endpoint: `${authUrl}/oauth/token`,
    revocation_endpoint: `${authUrl}/oauth/revoke`,
    introspection_endpoint: `${authUrl}/oauth/introspect`,
    scopes_supported: advertised(policy),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: clientAuthentication,
    revocation_endpoint_auth_methods_supported: clientAuthentication,
    introspection_endpoint_auth_methods_supported: clientAuthentication,
    code_challenge_methods_supported: ["S256"],
    ui_locales_supported: ["en", "fr"],
    ...(Option.isSome(guide) ? { service_documentation: guide.value } : {}),
    ...(Option.isSome(privacyPolicy) ? { op_policy_uri: privacyPolicy.value } : {}),
    authorization_response_iss_parameter_supported: Option.isSome(issuer)
  }, { "cache-control": "public, max-age=3600" })

  return metadataRoute("/.well-known/oauth-authorization-server", metadata)
})

/**
 * The metadata of a protected resource (RFC 9728): clients that know only the URL of an API find its authorization server
 * and its scopes there. Its path is not below the path of `HttpConfig.authUrl`.
 */
const resourceMetadata = (resource: Resource): Effect.Effect<Route, never, HttpConfig> =>
  Effect.gen(function*() {
    const { authUrl, issuer } = yield* HttpConfig
    const policy = yield* Policy
    const supported = resource.scopes ?? advertised(policy)
    const metadata = OAuthResponse.json(200, {
      resource: resource.url,
      authorization_servers: [Option.getOrElse(issuer, () => authUrl)],
      // RFC 9728 §3.2: an empty list is left out.
      ...(supported.length === 0 ? {} : { scopes_supported: supported }),
      bearer_methods_supported: ["header"]
    }, { "cache-control": "public, max-age=3600" })
    return metadataRoute(resourceMetadataPath(resource), metadata)
  })

/** A route to metadata, which are the same for every request. */
const metadataRoute = (path: string, metadata: Response): Route =>
  anyOrigin({ path, methods: { GET: () => Effect.succeed(metadata) }, refuse: OAuthResponse.refuse })

type Routes<R> = Effect.Effect<ReadonlyArray<Route>, never, R>

/** The metadata of the whole service as a resource, of its API, and of the embedder's own resources. */
const makeResources: Routes<HttpConfig> = Effect.flatMap(
  HttpConfig,
  ({ authUrl, resources }) =>
    Effect.forEach([{ url: authUrl }, { url: `${authUrl}/api/v1` }, ...resources], resourceMetadata)
)

/**
 * `/oauth/token`, `/oauth/revoke`, `/oauth/introspect` and the metadata. See `Authorization` for `/oauth/authorize`.
 */
export const oauth: Routes<Applications | Audit | HttpConfig | OAuth | Secrets | FailureLimit> = Effect.map(
  Effect.all([Effect.all([Token.make, Revoke.make, Introspect.make, makeMetadata]), makeResources]),
  (made) => made.flat()
)

/** `/api/v1/athlete` (requirements §4.5), with its metadata. */
export const athlete: Routes<HttpConfig | OAuth | UserStore | FailureLimit> = Effect.all([
  Athlete.make,
  Effect.flatMap(Athlete.resource, resourceMetadata)
])

/** `/api/v1/webhook_subscription` (requirements §4.6 to §4.9), with its event log and the metadata of both. */
export const webhooks: Routes<Applications | HttpConfig | OAuth | Secrets | Subscriptions | FailureLimit> = Effect.all([
  WebhookSubscription.make,
  Effect.flatMap(WebhookSubscription.resource, resourceMetadata),
  WebhookEvents.make,
  Effect.flatMap(WebhookEvents.resource, resourceMetadata)
])

/** All of these routes. `@startlist/pages` has the pages. */
export const routes: Routes<
  Applications | Audit | HttpConfig | OAuth | Secrets | Subscriptions | FailureLimit | UserStore
> = Effect.map(
  Effect.all([oauth, athlete, webhooks]),
  (made) => made.flat()
)

/** Answers requests that match no route with 404, in the format that their path suggests. */
export const notFound = (others: Refuse = ApiResponse.refuse): Handler =>
  fallback((request, error) => {
    const path = withoutExtraSlashes(request.path)
    const refuse = path.startsWith("/api/")
      ? ApiResponse.refuse
      : /^\/(?:oauth|\.well-known)\//.test(path)
      ? OAuthResponse.refuse
      : others
    return refuse(request, error)
  })
