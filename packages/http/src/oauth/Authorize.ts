/** `/oauth/authorize`: the user is asked, and sent back to the application with the answer (requirements §4.1). */
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
import * as ReturnTo from "../pages/ReturnTo.ts"
import { encode, get, type Parameters, read, write } from "../Parameters.ts"
import { describe, Malformed } from "../Refusal.ts"
import type { Endpoint, Route } from "../Router.ts"
import { basePath, Site } from "../Site.ts"
import { type Visitor, Visitors } from "../Visitors.ts"
import { parseClientId } from "./ClientAuthentication.ts"

const names = [
  "client_id",
  "redirect_uri",
  "response_type",
  "response_mode",
  "scope",
  "state",
  "role",
  "locale",
  "code_challenge",
  "code_challenge_method"
]

/** A parameter without a value counts as omitted (RFC 6749 §3.1), but `state` is returned as it was sent. */
const valueOf = (parameters: Parameters, name: string): Option.Option<string> =>
  Option.fromNullable(name === "state" ? parameters.values.get(name) : get(parameters, name))

/** The known parameters of the request. */
const fieldsOf = (parameters: Parameters): Fields =>
  names.flatMap((name) => Option.toArray(Option.map(valueOf(parameters, name), (value) => [name, value] as const)))

const path = "/oauth/authorize"

/** The request is refused on a page of ours: the user cannot be sent back, or the request cannot be carried. */
class RefusedHere extends Data.TaggedError("RefusedHere")<{ readonly status: 400 | 414; readonly kind: ErrorKind }> {
  static readonly tooLong = new RefusedHere({ status: 414, kind: "requestTooLong" })
}

const kinds: Readonly<Record<InvalidRedirect["reason"], ErrorKind>> = {
  unknown_client: "unknownClient",
  missing_redirect_uri: "missingRedirect",
  unregistered_redirect_uri: "unregisteredRedirect"
}

const refusedHere = ({ reason }: InvalidRedirect) => new RefusedHere({ status: 400, kind: kinds[reason] })

/** Whether an address fits through sign-in, where the link to the other language carries it encoded twice. */
const isTooLong = (address: string): boolean => encode(encode(address)).length > ReturnTo.maxLength

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
  const { redirectErrorsBeforeSignIn } = yield* Policy
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

  /** Checks the request each time it arrives: nothing of it is stored between the page and the decision. */
  const check = (
    parameters: Parameters
  ): Effect.Effect<AuthorizationRequest, RefusedHere | AuthorizationRefused | StoreError> => {
    const { ambiguous } = parameters
    if (ambiguous.has("client_id")) return new RefusedHere({ status: 400, kind: "repeatedClient" })
    if (ambiguous.has("redirect_uri")) return new RefusedHere({ status: 400, kind: "repeatedRedirect" })
    const clientId = Option.flatMap(valueOf(parameters, "client_id"), parseClientId)
    if (Option.isNone(clientId)) return new RefusedHere({ status: 400, kind: "unknownClient" })
    const once = (name: string) => ambiguous.has(name) ? Option.none() : valueOf(parameters, name)
    const checked = oauth.authorize(clientId.value, {
      redirectUri: once("redirect_uri"),
      responseType: once("response_type"),
      responseMode: once("response_mode"),
      scope: once("scope"),
      state: once("state"),
      role: once("role"),
      codeChallenge: once("code_challenge"),
      codeChallengeMethod: once("code_challenge_method")
    })
    const answerable = Effect.catchTag(checked, "InvalidRedirect", refusedHere).pipe(
      Effect.filterOrFail(() => !isTooLong(addressOf(fieldsOf(parameters))), () => RefusedHere.tooLong)
    )
    const [reason] = ambiguous.values()
    if (reason === undefined) return answerable
    const repetition = ({ redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">) =>
      new AuthorizationRefused({ error: "invalid_request", description: describe(reason).message, redirectUri, state })
    return answerable.pipe(
      Effect.catchTag("AuthorizationRefused", (refused) => repetition(refused)),
      Effect.flatMap((request) => repetition(request))
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

  /** Wrong requests are answered before anybody has to sign in, as far as the policy allows. */
  const answering = <E>(
    request: Request,
    parameters: Parameters,
    answer: Effect.Effect<Response, E | RefusedHere | AuthorizationRefused>
  ) =>
    Effect.catchIf(
      answer,
      (error) => error instanceof RefusedHere || error instanceof AuthorizationRefused,
      (error) =>
        Effect.succeed(
          error instanceof AuthorizationRefused
            ? refuse(error)
            : errors.show(request, error.status, error.kind, {
              locale: Locale.of(request, get(parameters, "locale"))
            })
        )
    )

  /** Strictly, nobody is sent on to an application before signing in, not even with an error (RFC 9700 §4.11.2). */
  const refuseVisitor = (
    request: Request,
    refused: AuthorizationRefused
  ): Effect.Effect<Response, AuthorizationRefused | RefusedHere | StoreError> =>
    redirectErrorsBeforeSignIn
      ? refused
      : Effect.flatMap(visitors.identify(request), (visitor): Effect.Effect<Response, typeof refused | RefusedHere> => {
        if (Option.isSome(visitor)) return refused
        const address = `${action}?${request.query}`
        return isTooLong(address) ? RefusedHere.tooLong : Effect.succeed(Page.redirect(visitors.signInUrl(address)))
      })

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
