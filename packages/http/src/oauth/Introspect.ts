/** `POST /oauth/introspect` (RFC 7662): an application asks about its own tokens, the operator about any. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Introspection } from "@startlist/core/Grant"
import type { ApplicationId } from "@startlist/core/Application"
import type { Audit } from "@startlist/core/Audit"
import { Applications } from "@startlist/core/Applications"
import { toSeconds } from "@startlist/core/Event"
import { OAuth } from "@startlist/core/OAuth"
import { Policy } from "@startlist/core/Policy"
import { Secrets } from "@startlist/core/Secrets"
import { bearerToken, challenge, usesBearer } from "../api/Bearer.ts"
import type { Request } from "../Http.ts"
import { get, type Parameters } from "../Parameters.ts"
import { TooMany } from "../Refusal.ts"
import type { Route } from "../Router.ts"
import { HttpConfig } from "../HttpConfig.ts"
import { FailureLimit, operatorKeys } from "../FailureLimit.ts"
import * as ClientAuthentication from "./ClientAuthentication.ts"
import * as OAuthResponse from "./OAuthResponse.ts"

/** RFC 7662 §2.2; identifiers are strings there. */
const toBody = ({ applicationId, createdAt, expiresAt, kind, scope, userId }: Introspection) => ({
  active: true,
  scope: scope.join(" "),
  client_id: String(applicationId),
  sub: String(userId),
  exp: toSeconds(expiresAt),
  iat: toSeconds(createdAt),
  ...(kind === "access" ? { token_type: "Bearer" } : {})
})

/** Refused like at a resource (RFC 7662 §2.3, RFC 6750 §3). */
const notOperator = OAuthResponse.error(401, "invalid_token", "the bearer may not introspect", {
  "www-authenticate": challenge
})

/** The route of the introspection endpoint. */
export const make: Effect.Effect<Route, never, Applications | Audit | HttpConfig | OAuth | Secrets | FailureLimit> =
  Effect.gen(function*() {
    const applications = yield* Applications
    const oauth = yield* OAuth
    const secrets = yield* Secrets
    const failures = yield* FailureLimit
    const policy = yield* Policy
    const { operatorToken } = yield* HttpConfig
    const withClient = yield* ClientAuthentication.make

    const introspect = (parameters: Parameters, audience: Option.Option<ApplicationId>) => {
      const token = get(parameters, "token")
      if (token === undefined) return Effect.succeed(OAuthResponse.error(400, "invalid_request", "token is missing"))
      return Effect.map(
        oauth.introspect(Redacted.make(token), audience),
        (known) => OAuthResponse.json(200, Option.match(known, { onNone: () => ({ active: false }), onSome: toBody }))
      )
    }

    const isOperator = (request: Request): boolean =>
      Option.exists(
        Option.all([operatorToken, bearerToken(request)]),
        ([expected, token]) => secrets.hash(token) === expected
      )

    const endpoint = (request: Request) =>
      isOperator(request)
        ? Either.match(ClientAuthentication.readParameters(request, policy), {
          onLeft: ClientAuthentication.refuse,
          onRight: (parameters) => introspect(parameters, Option.none())
        })
        : usesBearer(request)
        ? Effect.flatMap(
          failures.take(operatorKeys(request.address)),
          Option.match({
            onNone: () => Effect.succeed(notOperator),
            onSome: (wait): Effect.Effect<typeof notOperator, TooMany> => TooMany.after(wait)
          })
        )
        : withClient(request, ({ client, parameters }) =>
          Effect.zipRight(applications.authenticate(client), introspect(parameters, Option.some(client.id))))

    return { path: "/oauth/introspect", methods: { POST: endpoint }, refuse: OAuthResponse.refuse }
  })
