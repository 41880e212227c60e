/** `POST /oauth/token`: exchanges a code or a refresh token for tokens (requirements §4.2 and §4.3). */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Audit, GrantType } from "@startlist/core/Audit"
import { parseScope, scopeName } from "@startlist/core/Authorization"
import type { InvalidClient } from "@startlist/core/Application"
import { toSeconds } from "@startlist/core/Event"
import type { InvalidGrant, ScopeExceeded } from "@startlist/core/TokenRequest"
import { OAuth } from "@startlist/core/OAuth"
import type { Exchange, MissingParameter } from "@startlist/core/TokenRequests"
import { Policy } from "@startlist/core/Policy"
import type { StoreError } from "@startlist/core/Store"
import type { TokenAnswer } from "@startlist/core/Token"
import { header, type Request, type Response } from "../Http.ts"
import { get, type Parameters } from "../Parameters.ts"
import type { Route } from "../Router.ts"
import type { FailureLimit } from "../FailureLimit.ts"
import type { TooMany } from "../Refusal.ts"
import * as ClientAuthentication from "./ClientAuthentication.ts"
import * as OAuthResponse from "./OAuthResponse.ts"

/**
 * Requirements §2.2; `created_at` in whole seconds since 1970. Undefined fields are not sent. The redacted tokens are wiped:
 * nothing reads them again, and this is cheaper than garbage collection.
 */
const issued = (
  { accessToken, createdAt, expiresAt, refreshToken, state }: TokenAnswer,
  scope: string | undefined
): Response => {
  const answer = OAuthResponse.json(200, {
    token_type: "Bearer",
    access_token: Redacted.value(accessToken),
    refresh_token: Redacted.value(refreshToken),
    created_at: toSeconds(createdAt),
    expires_in: Math.floor((expiresAt.epochMillis - createdAt.epochMillis) / 1000),
    scope,
    state: Option.getOrUndefined(state)
  })
  Redacted.unsafeWipe(accessToken)
  Redacted.unsafeWipe(refreshToken)
  return answer
}

const missing = (name: string): Response => OAuthResponse.error(400, "invalid_request", `${name} is missing`)

const wrongKey = OAuthResponse.error(
  400,
  "invalid_request",
  "Idempotency-Key must have 1 to 255 printable ASCII characters"
)

const optional = (parameters: Parameters, name: string): Option.Option<string> =>
  Option.fromNullable(get(parameters, name))

/** The route of the token endpoint. */
export const make: Effect.Effect<Route, never, Audit | OAuth | FailureLimit> = Effect.gen(function*() {
  const oauth = yield* OAuth
  const policy = yield* Policy
  const withClient = yield* ClientAuthentication.make

  /**
   * Requirements §7 has 401 for a replaced or revoked token. No challenge, because common clients then ignore the body.
   * For a code, RFC 6749 §5.2 has 400.
   */
  const statusOf = (reason: InvalidGrant["reason"], grantType: GrantType): 400 | 401 =>
    grantType === "refresh_token" && invalidated.has(reason) ? policy.revokedTokenStatus : 400

  const exchange = ({ address, client, idempotencyKey }: Common, parameters: Parameters) => {
    const code = get(parameters, "code")
    if (code === undefined) return Effect.succeed(missing("code"))
    return Effect.map(
      oauth.exchange({
        address,
        client,
        idempotencyKey,
        code: Redacted.make(code),
        redirectUri: optional(parameters, "redirect_uri"),
        verifier: Option.map(optional(parameters, "code_verifier"), Redacted.make)
      }),
      (tokens) => issued(tokens, tokens.scope.join(" "))
    )
  }

  // No spread: it would take 5 % of a refresh.
  const refresh = ({ address, client, idempotencyKey }: Common, parameters: Parameters) => {
    const text = get(parameters, "refresh_token")
    if (text === undefined) return Effect.succeed(missing("refresh_token"))
    const scope = Option.map(optional(parameters, "scope"), parseScope)
    const token = Redacted.make(text)
    return Effect.map(oauth.refresh({ address, client, idempotencyKey, token, scope }), (tokens) => {
      // Not used again. Wiping them now is cheaper than garbage collection.
      Redacted.unsafeWipe(token)
      Redacted.unsafeWipe(client.secret)
      // Requirements §4.3 has no scope here. RFC 6749 §5.1 requires it if it differs from the requested one.
      const isOther = Option.isSome(scope) &&
        (tokens.scope.length !== scope.value.length || tokens.scope.some((name) => !scope.value.includes(name)))
      return issued(tokens, isOther ? tokens.scope.join(" ") : undefined)
    })
  }

  const endpoint = (request: Request) =>
    withClient(request, ({ client, parameters }) => {
      const grantType = get(parameters, "grant_type")
      if (grantType === undefined) return Effect.succeed(missing("grant_type"))
      if (!isGrantType(grantType)) {
        return Effect.succeed(OAuthResponse.error(
          400,
          "unsupported_grant_type",
          "grant_type must be authorization_code or refresh_token"
        ))
      }
      const idempotencyKey = Option.fromNullable(header(request, "idempotency-key"))
      if (Option.exists(idempotencyKey, (key) => !/^[ -~]{1,255}$/.test(key))) {
        return Effect.succeed(wrongKey)
      }
      const common = { address: request.address, client, idempotencyKey }
      const answer: Effect.Effect<Response, Refused | InvalidClient | TooMany | StoreError> =
        grantType === "refresh_token"
          ? refresh(common, parameters)
          : exchange(common, parameters)
      return Effect.catchTags(answer, {
        "@startlist/core/InvalidGrant": ({ reason }) => {
          // The user has to be asked again, but nothing has ended: an operator may add a scope again.
          const code = reason === "scopeless" ? "invalid_scope" : "invalid_grant"
          return Effect.succeed(OAuthResponse.error(statusOf(reason, grantType), code, descriptions[reason]))
        },
        "@startlist/core/MissingParameter": ({ name }) => Effect.succeed(missing(name)),
        "@startlist/core/ScopeExceeded": ({ scope }) =>
          Effect.succeed(OAuthResponse.error(
            400,
            "invalid_scope",
            `${scopeName(scope)} was not granted. Separate scopes with spaces.`
          ))
      })
    })

  return { path: "/oauth/token", methods: { POST: endpoint }, refuse: OAuthResponse.refuse }
})

/** The parts of a request that both grant types need. */
type Common = Required<Pick<Exchange<TooMany>, "address" | "client" | "idempotencyKey">>

/** Refusals with their own message at this endpoint. */
type Refused = InvalidGrant | MissingParameter | ScopeExceeded

const isGrantType = (value: string): value is GrantType => value === "authorization_code" || value === "refresh_token"

/** Refusals of a refresh token that was good once. */
const invalidated: ReadonlySet<InvalidGrant["reason"]> = new Set([
  "replaced",
  "superseded",
  "ended",
  "replayed",
  "revoked"
])

const descriptions: Readonly<Record<InvalidGrant["reason"], string>> = {
  unknown: "the code or refresh token is unknown, or the code has expired",
  expired: "the refresh token has expired",
  mismatch: "the code or refresh token was issued for another client, redirect_uri or code_challenge",
  used: "the code was used before",
  replaced: "the refresh token was replaced by a newer one",
  superseded: "the refresh token is of an earlier connection: use the latest tokens, or connect the user again",
  ended:
    "all tokens since the last connection were revoked, because an old code or token was used: connect the user again",
  replayed: "the code or refresh token was used before, so all tokens since its code were revoked",
  revoked: "access was revoked",
  scopeless: "none of the granted scopes exists any more. Ask the user for access with other scopes."
}
