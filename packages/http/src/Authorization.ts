/**
 * `/oauth/authorize` without pages (requirements §4.1): the checked request as data, and the two answers to it. For
 * servers that have a consent page of their own; `@startlist/pages` has ours.
 *
 * Nothing is stored between the page and the decision: the form of the page (`formOf`) sends the request again, and it
 * is checked again.
 */
import * as Arr from "effect/Array"
import * as Data from "effect/Data"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import {
  AuthorizationRefused,
  type AuthorizationRequest,
  denied,
  InvalidRedirect,
  type RoleMismatch
} from "@startlist/core/Authorization"
import { findRepeated } from "@startlist/core/Application"
import { OAuth } from "@startlist/core/OAuth"
import type { StoreError } from "@startlist/core/Store"
import type { User } from "@startlist/core/User"
import { type Action, Audit, Entry, Party, uninterrupted } from "@startlist/core/Audit"
import { redirect, type Request, type Response } from "./Http.ts"
import { findAmbiguous, get, type Parameters, parseClientId, write } from "./Parameters.ts"
import { describe } from "./Refusal.ts"
import { HttpConfig } from "./HttpConfig.ts"

/** Names and values, in the order of a form or query. */
export type Fields = ReadonlyArray<readonly [name: string, value: string]>

/** Why the user cannot be sent back to the application (RFC 6749 §4.1.2.1): the reason is for the user. */
export class NotRedirectable extends Data.TaggedError("@startlist/http/NotRedirectable")<{
  readonly reason:
    | InvalidRedirect["reason"]
    | "repeated_client_id"
    | "repeated_redirect_uri"
    /** The redirect URI has a parameter of the answer, such as `code`. */
    | "ambiguous_redirect_uri"
}> {}

/** The checked request of `/oauth/authorize`, and the answers to it. */
export interface Authorization {
  /**
   * Checks a request. Fails with `AuthorizationRefused` if the application gets the error (`sendBack`), and with
   * `NotRedirectable` if only the user may see it.
   */
  readonly check: (
    parameters: Parameters
  ) => Effect.Effect<AuthorizationRequest, NotRedirectable | AuthorizationRefused | StoreError>
  /** The user consents: a redirect to the application with a code. */
  readonly allow: (
    request: Request,
    checked: AuthorizationRequest,
    user: User
  ) => Effect.Effect<Response, RoleMismatch | StoreError>
  /** The user refuses: a redirect to the application with `access_denied`. */
  readonly deny: (request: Request, checked: AuthorizationRequest, user: User) => Effect.Effect<Response>
  /** A redirect to the application with an error. */
  readonly sendBack: (refused: AuthorizationRefused) => Response
}

const names = [
  "client_id",
  "redirect_uri",
  "response_type",
  "response_mode",
  "scope",
  "state",
  "role",
  "locale",
  "login_hint",
  "code_challenge",
  "code_challenge_method"
]

/** A parameter without a value counts as omitted (RFC 6749 §3.1), but an empty `state` is returned empty. */
const valueOf = (parameters: Parameters, name: string): Option.Option<string> =>
  Option.fromNullable(name === "state" ? parameters.values.get(name) : get(parameters, name))

/** The known parameters of a request. */
export const fieldsOf = (parameters: Parameters): Fields =>
  names.flatMap((name) => Option.toArray(Option.map(valueOf(parameters, name), (value) => [name, value] as const)))

/** The form of a consent page: its address, and the hidden fields that send the request again. */
export interface Form {
  /** Its path, with a query for values that have line breaks. */
  readonly action: string
  readonly fields: Fields
}

/**
 * The form to this path. Values with line breaks are in its address, because browsers change them in fields. It has the
 * scope that the page shows: the default scope may change before the user decides.
 */
export const formOf = (
  path: string,
  parameters: Parameters,
  { scope }: Pick<AuthorizationRequest, "scope">
): Form => {
  const sent = fieldsOf(parameters).filter(([name]) => name !== "scope")
  const all: Fields = [...sent, ["scope", scope.join(" ")]]
  const [fields, changing] = Arr.partition(all, ([, value]) => /[\r\n]/.test(value))
  return { action: changing.length === 0 ? path : `${path}?${write(changing)}`, fields }
}

/** Adds parameters to the query of a redirect URI (RFC 6749 §3.1.2), which has no fragment. */
const append = (uri: string, parameters: Fields): string => {
  const separator = uri.includes("?") ? (/[?&]$/.test(uri) ? "" : "&") : "?"
  return `${uri}${separator}${write(parameters)}`
}

/** The authorization endpoint without pages, over the core. */
export const make: Effect.Effect<Authorization, never, Audit | HttpConfig | OAuth> = Effect.gen(function*() {
  const oauth = yield* OAuth
  const audit = yield* Audit
  const { issuer } = yield* HttpConfig

  /** A redirect to the application with `state`, if the request had one, and the issuer (RFC 9207). */
  const answer = (uri: string, state: Option.Option<string>, fields: Fields): Response => {
    const optional = (name: string, value: Option.Option<string>): Fields =>
      Option.match(value, { onNone: () => [], onSome: (some) => [[name, some] as const] })
    return redirect(append(uri, [...fields, ...optional("state", state), ...optional("iss", issuer)]))
  }

  const sendBack = ({ description, error, redirectUri, state }: AuthorizationRefused): Response =>
    answer(redirectUri, state, [["error", error], ["error_description", description]])

  const check: Authorization["check"] = (parameters) => {
    const { ambiguous } = parameters
    if (ambiguous.has("client_id")) return new NotRedirectable({ reason: "repeated_client_id" })
    if (ambiguous.has("redirect_uri")) return new NotRedirectable({ reason: "repeated_redirect_uri" })
    const clientId = Option.flatMap(valueOf(parameters, "client_id"), parseClientId)
    if (Option.isNone(clientId)) return new NotRedirectable({ reason: "unknown_client" })
    const once = (name: string) => ambiguous.has(name) ? Option.none() : valueOf(parameters, name)
    const redirectUri = once("redirect_uri")
    const isAmbiguous = Option.exists(redirectUri, (uri) => findRepeated(uri) !== undefined)
    const checked = Effect.catchTag(
      oauth.authorize(clientId.value, {
        redirectUri,
        responseType: once("response_type"),
        responseMode: once("response_mode"),
        scope: once("scope"),
        state: once("state"),
        role: once("role"),
        codeChallenge: once("code_challenge"),
        codeChallengeMethod: once("code_challenge_method")
      }),
      "@startlist/core/InvalidRedirect",
      ({ reason }) =>
        new NotRedirectable({
          reason: reason === "unregistered_redirect_uri" && isAmbiguous ? "ambiguous_redirect_uri" : reason
        })
    )
    const reason = findAmbiguous(parameters, [...names, "prompt"])
    if (reason === undefined) return checked
    const repetition = ({ redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">) =>
      new AuthorizationRefused({ error: "invalid_request", description: describe(reason).message, redirectUri, state })
    return checked.pipe(
      Effect.catchTag("@startlist/core/AuthorizationRefused", (refused) => repetition(refused)),
      Effect.flatMap((request) => repetition(request))
    )
  }

  const record = (action: Action, user: User, checked: AuthorizationRequest, { address }: Request) =>
    Effect.flatMap(DateTime.now, (at) =>
      audit.record(Entry.Acted({
        at,
        action,
        actor: Party.User({ userId: user.id }),
        subject: Party.Application({ applicationId: checked.application.id }),
        address,
        // A consent with another role ends the tokens of the former one.
        detail: `as ${user.role}`
      })))

  const consent = (request: Request, checked: AuthorizationRequest, user: User) =>
    Effect.gen(function*() {
      const code = yield* oauth.consent(checked, user)
      yield* record("consent", user, checked, request)
      return answer(checked.redirectUri, checked.state, [
        ["code", Redacted.value(code)],
        ["scope", checked.scope.join(" ")]
      ])
    }).pipe(Effect.catchTag("@startlist/core/UserErased", () => Effect.succeed(sendBack(denied(checked)))))

  return {
    check,
    allow: (request, checked, user) => uninterrupted(consent(request, checked, user)),
    deny: (request, checked, user) =>
      Effect.as(record("consent_refused", user, checked, request), sendBack(denied(checked))),
    sendBack
  }
})
