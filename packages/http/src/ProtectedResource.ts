/**
 * Metadata of protected resources (RFC 9728): clients that know only the URL of an API find its authorization server
 * and its scopes there. The challenge to a request without access names the metadata.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { advertised, Policy } from "@startlist/core/Policy"
import { anyOrigin, type Route } from "./Router.ts"
import { HttpConfig, partsOf, type Resource } from "./HttpConfig.ts"
import * as OAuthResponse from "./oauth/OAuthResponse.ts"

/** The path below which all metadata of protected resources are. */
export const wellKnown = "/.well-known/oauth-protected-resource"

/** The path of the metadata: that of the resource follows the well-known one (RFC 9728 §3.1). */
const pathOf = (path: string): string => path === "/" ? wellKnown : `${wellKnown}${path}`

/** The URL of the metadata of a resource. */
export const metadataUrl = (url: string): string => {
  const [origin, path] = partsOf(url)
  return `${origin}${pathOf(path)}`
}

/** The route of the metadata of a resource. Its path is not below the path of `HttpConfig.authUrl`. */
export const route = ({ scopes, url }: Resource): Effect.Effect<Route, never, HttpConfig> =>
  Effect.gen(function*() {
    const { authUrl, issuer } = yield* HttpConfig
    const policy = yield* Policy
    const supported = scopes ?? advertised(policy)
    const metadata = OAuthResponse.json(200, {
      resource: url,
      authorization_servers: [Option.getOrElse(issuer, () => authUrl)],
      // RFC 9728 §3.2: an empty list is left out.
      ...(supported.length === 0 ? {} : { scopes_supported: supported }),
      bearer_methods_supported: ["header"]
    }, { "cache-control": "public, max-age=3600" })
    return anyOrigin({
      path: pathOf(partsOf(url)[1]),
      methods: { GET: () => Effect.succeed(metadata) },
      refuse: OAuthResponse.refuse
    })
  })
