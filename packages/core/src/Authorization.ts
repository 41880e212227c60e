/** The authorization request of an application to a user (requirements §4.1). */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { acceptsRedirect, type Application } from "./Application.ts"
import { advertised, type Policy } from "./Policy.ts"
import { Text } from "./Store.ts"
import type { Scope } from "./Token.ts"
import { Role } from "./User.ts"

/** The parameters as sent. One without a value counts as omitted (RFC 6749 §3.1), except `state`, which is echoed. */
export interface Parameters {
  readonly redirectUri: Option.Option<string>
  readonly responseType: Option.Option<string>
  readonly responseMode: Option.Option<string>
  readonly scope: Option.Option<string>
  readonly state: Option.Option<string>
  readonly role: Option.Option<string>
  readonly codeChallenge: Option.Option<string>
  readonly codeChallengeMethod: Option.Option<string>
}

/** A valid request, which can be shown to the user. */
export interface AuthorizationRequest {
  readonly application: Application
  readonly redirectUri: string
  readonly scope: Scope
  readonly state: Option.Option<string>
  /** The role that the user must have. */
  readonly role: Option.Option<Role>
  /** The S256 code challenge (RFC 7636 §4.3). */
  readonly challenge: Option.Option<string>
}

/** No redirect is allowed: the client is unknown or suspended, or its redirect URI is unknown (RFC 6749 §4.1.2.1). */
export class InvalidRedirect extends Schema.TaggedError<InvalidRedirect>()("@startlist/core/InvalidRedirect", {
  reason: Schema.Literal("unknown_client", "suspended_client", "missing_redirect_uri", "unregistered_redirect_uri")
}) {}

/** The request is wrong, and a redirect reports it to the application (RFC 6749 §4.1.2.1). */
export class AuthorizationRefused
  extends Schema.TaggedError<AuthorizationRefused>()("@startlist/core/AuthorizationRefused", {
    error: Schema.Literal("invalid_request", "unsupported_response_type", "invalid_scope", "access_denied"),
    description: Schema.String,
    redirectUri: Schema.String,
    state: Schema.OptionFromSelf(Schema.String)
  })
{}

/** The user does not have the role that the application asks for (requirements §4.1). */
export class RoleMismatch extends Schema.TaggedError<RoleMismatch>()("@startlist/core/RoleMismatch", {
  requested: Role,
  actual: Role
}) {}

const isRole = Schema.is(Role)
const isText = Schema.is(Text)

/** The name of a requested scope for a message, if it is a short scope-token of RFC 6749 §3.3. */
export const scopeName = (scope: string): string => /^[!#-[\]-~]{1,100}$/.test(scope) ? scope : "a requested scope"

/** Checks a request against the application that makes it. */
export const check = (
  application: Application,
  parameters: Parameters,
  policy: Policy.Service
): Either.Either<AuthorizationRequest, InvalidRedirect | AuthorizationRefused> => {
  const { codeChallenge, codeChallengeMethod, redirectUri, responseMode, responseType } = parameters
  if (application.state !== "active") return Either.left(new InvalidRedirect({ reason: "suspended_client" }))
  if (Option.isNone(redirectUri)) return Either.left(new InvalidRedirect({ reason: "missing_redirect_uri" }))
  if (!acceptsRedirect(application, redirectUri.value, policy)) {
    return Either.left(new InvalidRedirect({ reason: "unregistered_redirect_uri" }))
  }
  const state = Option.filter(parameters.state, isText)
  const refuse = (error: AuthorizationRefused["error"], description: string) =>
    Either.left(new AuthorizationRefused({ error, description, redirectUri: redirectUri.value, state }))

  if (Option.isSome(parameters.state) && Option.isNone(state)) {
    return refuse("invalid_request", "state contains a NUL or an unpaired surrogate. Send text.")
  }
  if (Option.isNone(responseType)) return refuse("invalid_request", "response_type is missing")
  if (responseType.value !== "code") return refuse("unsupported_response_type", "response_type must be code")
  if (Option.isSome(responseMode) && responseMode.value !== "query") {
    return refuse("invalid_request", "response_mode must be query")
  }
  const requested = parseScope(Option.getOrElse(parameters.scope, () => ""))
  const scope = requested.length === 0 ? policy.defaultScope : requested
  const unknown = scope.find((name) => !policy.scopes.includes(name))
  if (unknown !== undefined) {
    return refuse("invalid_scope", `${scopeName(unknown)} is not a known scope. Separate scopes with spaces.`)
  }
  // RFC 6749 §3.3: without a default, a missing scope is invalid.
  if (scope.length === 0) {
    return refuse("invalid_scope", `scope is missing. Send one or more of: ${advertised(policy).join(" ")}`)
  }
  const role = Option.filter(parameters.role, isRole)
  if (Option.isSome(parameters.role) && Option.isNone(role)) {
    return refuse("invalid_request", "role must be platform, organizer, club or athlete")
  }
  if (Option.isNone(codeChallenge) && Option.isSome(codeChallengeMethod)) {
    return refuse("invalid_request", "code_challenge is missing")
  }
  if (Option.isNone(codeChallenge) && application.requirePkce) {
    return refuse("invalid_request", "code_challenge is required for this application")
  }
  if (Option.isSome(codeChallenge)) {
    // RFC 7636 §4.3: a challenge without a method is a plain one.
    if (!Option.contains(codeChallengeMethod, "S256")) {
      return refuse("invalid_request", "code_challenge_method must be S256")
    }
    if (!/^[\w-]{43}$/.test(codeChallenge.value)) return refuse("invalid_request", "code_challenge is malformed")
  }
  return Either.right({ application, redirectUri: redirectUri.value, scope, state, role, challenge: codeChallenge })
}

/** Space-delimited, without repetitions, in the order given (RFC 6749 §3.3). */
export const parseScope = (scope: string): Scope => [...new Set(scope.split(" ").filter((name) => name !== ""))]

/** The user refuses (requirements §4.1): the application gets `access_denied`. */
export const denied = (request: AuthorizationRequest): AuthorizationRefused =>
  new AuthorizationRefused({
    error: "access_denied",
    description: "the user refused access",
    redirectUri: request.redirectUri,
    state: request.state
  })
