/** `/oauth/authorize`: the user is asked, and sent back to the application with the answer (requirements §4.1). */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import {
  AuthorizationRefused,
  type AuthorizationRequest,
  denied,
  InvalidRedirect,
  RoleMismatch
} from "@startlist/core/Authorization"
import { OAuth } from "@startlist/core/OAuth"
import { Policy } from "@startlist/core/Policy"
import type { StoreError } from "@startlist/core/Store"
import { type Action, Audit, Party } from "../Audit.ts"
import { lasting } from "../internal/lasting.ts"
import type { Request, Response } from "../Message.ts"
import { Look } from "../Look.ts"
import type { Fields } from "../pages/Consent.tsx"
import * as ErrorPage from "../pages/ErrorPage.ts"
import * as Forms from "../pages/Forms.ts"
import * as Frame from "../pages/Frame.ts"
import * as Locale from "../pages/Locale.ts"
import type { ErrorKind } from "../pages/Messages.ts"
import * as Page from "../pages/Page.ts"
import { get, type Parameters, read, write } from "../Parameters.ts"
import { Malformed } from "../Refusal.ts"
import type { Endpoint, Route } from "../Router.ts"
import { basePath, Site } from "../Site.ts"
import { type Visitor, Visitors } from "../Visitors.ts"
import { parseClientId } from "./ClientAuthentication.ts"

const names = [
  "client_id",
  "redirect_uri",
  "response_type",
  "scope",
  "state",
  "role",
  "locale",
  "code_challenge",
  "code_challenge_method"
]

/** What the request carried of the parameters that mean something. */
const fieldsOf = (parameters: Parameters): Fields =>
  names.flatMap((name) => {
    const value = get(parameters, name)
    return value === undefined ? [] : [[name, value] as const]
  })

const path = "/oauth/authorize"

const kinds: Readonly<Record<InvalidRedirect["reason"], ErrorKind>> = {
  unknown_client: "unknownClient",
  missing_redirect_uri: "missingRedirect",
  unregistered_redirect_uri: "unregisteredRedirect"
}

/** Adds to whatever query the address has (RFC 6749 §3.1.2); it has no fragment. */
const append = (uri: string, parameters: Fields): string => {
  const separator = uri.includes("?") ? (/[?&]$/.test(uri) ? "" : "&") : "?"
  return `${uri}${separator}${write(parameters)}`
}

export const make: Effect.Effect<Route, never, OAuth | Visitors> = Effect.gen(function*() {
  const oauth = yield* OAuth
  const visitors = yield* Visitors
  const audit = yield* Audit
  const site = yield* Site
  const { profile } = yield* Policy
  const look = yield* Look
  const frameOf = yield* Frame.make
  const errors = yield* ErrorPage.make
  const action = basePath(site) + path

  /** The address of the request as a GET: where the user comes back to after signing in. */
  const addressOf = (fields: Fields): string => `${action}?${write(fields)}`

  /** Back to the application, with `state` whenever it came with one, and who answers (RFC 9207). */
  const sendBack = (uri: string, state: Option.Option<string>, answer: Fields): Response => {
    const optional = (name: string, value: Option.Option<string>): Fields =>
      Option.match(value, { onNone: () => [], onSome: (some) => [[name, some] as const] })
    return Page.redirect(append(uri, [...answer, ...optional("state", state), ...optional("iss", site.issuer)]))
  }

  const refuse = ({ description, error, redirectUri, state }: AuthorizationRefused): Response =>
    sendBack(redirectUri, state, [["error", error], ["error_description", description]])

  /** Checks the request, as often as it comes: nothing of it is kept between the page and the decision. */
  const check = (
    parameters: Parameters
  ): Effect.Effect<AuthorizationRequest, InvalidRedirect | AuthorizationRefused | StoreError> => {
    const { repeated } = parameters
    const clientId = Option.flatMap(Option.fromNullable(get(parameters, "client_id")), parseClientId)
    if (Option.isNone(clientId) || repeated.has("client_id")) {
      return Effect.fail(new InvalidRedirect({ reason: "unknown_client" }))
    }
    const once = (name: string) => repeated.has(name) ? Option.none() : Option.fromNullable(get(parameters, name))
    const checked = oauth.authorize(clientId.value, {
      redirectUri: once("redirect_uri"),
      responseType: once("response_type"),
      scope: once("scope"),
      state: once("state"),
      role: once("role"),
      codeChallenge: once("code_challenge"),
      codeChallengeMethod: once("code_challenge_method")
    })
    if (repeated.size === 0) return checked
    const repetition = ({ redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">) =>
      new AuthorizationRefused({
        error: "invalid_request",
        description: "a parameter is given more than once",
        redirectUri,
        state
      })
    return checked.pipe(
      Effect.catchTag("AuthorizationRefused", (refused) => Effect.fail(repetition(refused))),
      Effect.flatMap((request) => Effect.fail(repetition(request)))
    )
  }

  const ask = (request: Request, checked: AuthorizationRequest, visitor: Visitor, parameters: Parameters): Response => {
    const fields = fieldsOf(parameters)
    const frame = frameOf({
      locale: Locale.of(request, get(parameters, "locale")),
      here: addressOf(fields),
      visitor: Option.some(visitor),
      signOutUrl: visitors.signOutUrl
    })
    const page = { action, fields, frame, request: checked, visitor }
    const options = { sources: look.sources }
    const mismatch = Option.filter(checked.role, (role) => role !== visitor.user.role)
    return Option.isSome(mismatch)
      ? Page.html(403, look.wrongRole({ ...page, requested: mismatch.value }), options)
      : Page.html(200, look.consent(page), options)
  }

  const record = (action: Action, { user }: Visitor, checked: AuthorizationRequest, { address }: Request) =>
    Effect.flatMap(DateTime.now, (at) =>
      audit.record({
        at,
        action,
        actor: Party.User({ userId: user.id }),
        subject: Party.Application({ applicationId: checked.application.id }),
        address
      }))

  /** Wrong requests are answered before anybody has to sign in, as far as the profile allows. */
  const answering = <E>(
    request: Request,
    parameters: Parameters,
    answer: Effect.Effect<Response, E | InvalidRedirect | AuthorizationRefused>
  ) =>
    Effect.catchIf(
      answer,
      (error) => error instanceof InvalidRedirect || error instanceof AuthorizationRefused,
      (error) =>
        Effect.succeed(
          error instanceof AuthorizationRefused
            ? refuse(error)
            : errors.show(request, 400, kinds[error.reason], {
              locale: Locale.of(request, get(parameters, "locale"))
            })
        )
    )

  /** Strictly, nobody is sent on to an application before signing in, not even with an error (RFC 9700 §4.11.2). */
  const refuseVisitor = (request: Request, refused: AuthorizationRefused) =>
    profile === "rfc"
      ? Effect.flatMap(visitors.identify(request), (visitor) =>
        Option.isSome(visitor)
          ? refused
          : Effect.succeed(Page.redirect(visitors.signInUrl(`${action}?${request.query}`))))
      : refused

  const visit: Endpoint = (request) =>
    Effect.flatMap(read(request), (parameters) =>
      answering(
        request,
        parameters,
        Effect.gen(function*() {
          const checked = yield* check(parameters)
          const visitor = yield* visitors.identify(request)
          return Option.isSome(visitor)
            ? ask(request, checked, visitor.value, parameters)
            : Page.redirect(visitors.signInUrl(addressOf(fieldsOf(parameters))))
        }).pipe(Effect.catchTag("AuthorizationRefused", (refused) => refuseVisitor(request, refused)))
      ))

  const allow = (request: Request, checked: AuthorizationRequest, visitor: Visitor) =>
    Effect.gen(function*() {
      const consented = oauth.consent(checked, visitor.user)
      const code = yield* lasting(Effect.tap(consented, record("consent", visitor, checked, request)))
      return sendBack(checked.redirectUri, checked.state, [
        ["code", Redacted.value(code)],
        ["scope", checked.scope.join(" ")]
      ])
    })

  const decide: Endpoint = (request) =>
    Effect.flatMap(Forms.read(request, site), ({ isGenuine, parameters }) =>
      answering(
        request,
        parameters,
        Effect.gen(function*() {
          const visitor = yield* visitors.identify(request)
          if (Option.isNone(visitor)) {
            return Page.redirect(visitors.signInUrl(addressOf(fieldsOf(parameters))))
          }
          if (!isGenuine(visitor.value.csrf)) return errors.forged(request, addressOf(fieldsOf(parameters)))
          const checked = yield* check(parameters)
          switch (get(parameters, "decision")) {
            case "allow":
              return yield* Effect.catchIf(
                allow(request, checked, visitor.value),
                (error) => error instanceof RoleMismatch,
                () => Effect.succeed(ask(request, checked, visitor.value, parameters))
              )
            case "deny":
              yield* record("consent_refused", visitor.value, checked, request)
              return refuse(denied(checked))
            default:
              return yield* new Malformed({ what: "decision" })
          }
        })
      ))

  return { path, methods: { GET: visit, POST: decide }, refuse: errors.refuse }
})
