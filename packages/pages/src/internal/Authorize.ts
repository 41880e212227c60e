/** `/oauth/authorize`: asks the user, and redirects to the application with the decision (requirements §4.1). */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Audit } from "@startlist/core/Audit"
import { AuthorizationRefused, type AuthorizationRequest, RoleMismatch } from "@startlist/core/Authorization"
import { OAuth } from "@startlist/core/OAuth"
import type { UserStore } from "@startlist/core/User"
import { Policy } from "@startlist/core/Policy"
import * as Authorization from "@startlist/http/Authorization"
import { redirect, type Request, type Response } from "@startlist/http/Http"
import { get, type Parameters, read, write } from "@startlist/http/Parameters"
import { Malformed } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { Templates } from "../Templates.ts"
import { Authentication, type SignedIn } from "../Authentication.ts"
import { imagesOf } from "./StandardTemplates.tsx"
import * as ErrorPage from "./ErrorPage.ts"
import * as Forms from "./Forms.ts"
import * as Locale from "./Locale.ts"
import type { ErrorKind } from "./English.ts"
import * as Page from "./Page.ts"

const path = "/oauth/authorize"

/** The address is too long for sign-in. */
class TooLong extends Data.TaggedError("@startlist/pages/TooLong") {}

type NotRedirectable = Authorization.NotRedirectable

const kinds: Readonly<Record<NotRedirectable["reason"], ErrorKind>> = {
  unknown_client: "unknownClient",
  suspended_client: "suspendedClient",
  missing_redirect_uri: "missingRedirect",
  unregistered_redirect_uri: "unregisteredRedirect",
  repeated_client_id: "repeatedClient",
  repeated_redirect_uri: "repeatedRedirect",
  ambiguous_redirect_uri: "ambiguousRedirect"
}

/** Whether an address is too long for sign-in, where the language link has it encoded twice. */
const isTooLong = (address: string): boolean =>
  encodeURIComponent(encodeURIComponent(address)).length > Forms.maxReturnLength

/** The route of the consent page. */
export const make: Effect.Effect<Route, never, Audit | Authentication | HttpConfig | OAuth | UserStore> = Effect.gen(
  function*() {
    const authorization = yield* Authorization.make
    const oauth = yield* OAuth
    const authentication = yield* Authentication
    const config = yield* HttpConfig
    const { redirectErrorsBeforeSignIn } = yield* Policy
    const templates = yield* Templates
    const frameOf = yield* Page.makeFrame
    const errors = yield* ErrorPage.make
    const action = basePath(config) + path

    /** The address of the request as a GET, to which the user returns after signing in. */
    const addressOf = (parameters: Parameters): string => `${action}?${write(Authorization.fieldsOf(parameters))}`

    const check = (parameters: Parameters) =>
      Effect.filterOrFail(
        authorization.check(parameters),
        () => !isTooLong(addressOf(parameters)),
        () => new TooLong()
      )

    /** The consent page, or the page that offers another account. `mismatchStatus`: 403 if it refuses a decision. */
    const ask = (
      request: Request,
      checked: AuthorizationRequest,
      signedIn: SignedIn,
      parameters: Parameters,
      mismatchStatus: 200 | 403 = 200
    ) =>
      Effect.map(oauth.authorized(signedIn.user.id), (authorized): Response => {
        const frame = frameOf({
          locale: Locale.of(request, get(parameters, "locale")),
          here: addressOf(parameters),
          signedIn: Option.some(signedIn),
          signOutUrl: authentication.signOutUrl
        })
        const isAllowedBefore = authorized.some(({ application }) => application.id === checked.application.id)
        const form = Authorization.formOf(action, parameters, checked)
        const page = { ...form, frame, isAllowedBefore, request: checked, signedIn }
        const options = { sources: { ...imagesOf(checked.application.links?.logo), ...templates.sources } }
        const mismatch = Option.filter(checked.role, (role) => role !== signedIn.user.role)
        return Option.isSome(mismatch)
          ? Page.html(mismatchStatus, templates.wrongRole({ ...page, requested: mismatch.value }), options)
          : Page.html(200, templates.consent(page), options)
      })

    /** Answers wrong requests before sign-in, as far as the policy allows. */
    const answering = <E extends { readonly _tag: string }>(
      request: Request,
      parameters: Parameters,
      answer: Effect.Effect<Response, E | NotRedirectable | TooLong | AuthorizationRefused>
    ) => {
      const show = (status: number, kind: ErrorKind) =>
        Effect.succeed(errors.show(request, status, kind, { locale: Locale.of(request, get(parameters, "locale")) }))
      return Effect.catchAll(
        answer,
        (error): Effect.Effect<Response, Exclude<E, NotRedirectable | TooLong>> =>
          error instanceof AuthorizationRefused
            ? Effect.succeed(authorization.sendBack(error))
            : error instanceof Authorization.NotRedirectable
            ? show(400, kinds[error.reason])
            : error instanceof TooLong
            ? show(414, "requestTooLong")
            : Effect.fail(error as Exclude<E, NotRedirectable | TooLong>)
      )
    }

    /** In the strict profile, redirects to an application only after sign-in, also with an error (RFC 9700 §4.11.2). */
    const refuseSignedIn = (request: Request, refused: AuthorizationRefused, address: string) =>
      redirectErrorsBeforeSignIn
        ? refused
        : Effect.gen(function*() {
          if (Option.isSome(yield* authentication.identify(request))) return yield* refused
          if (isTooLong(address)) return yield* new TooLong()
          return redirect(authentication.signInUrl(address))
        })

    /**
     * The answer to a request without a decision. After a mistake in it, the user returns from sign-in to `address`. After
     * `prompt=login`, the user returns to an address without it, and so is asked once.
     */
    const begin = (request: Request, parameters: Parameters, address: string) =>
      Effect.gen(function*() {
        const checked = yield* check(parameters)
        const prompt = get(parameters, "prompt")?.split(" ").includes("login") === true ? "login" : undefined
        const signedIn = yield* authentication.identify(request)
        return Option.isSome(signedIn) && prompt === undefined
          ? yield* ask(request, checked, signedIn.value, parameters)
          : redirect(authentication.signInUrl(addressOf(parameters), prompt))
      }).pipe(
        Effect.catchTag("@startlist/core/AuthorizationRefused", (refused) => refuseSignedIn(request, refused, address))
      )

    const visit: Endpoint = (request) =>
      Effect.flatMap(
        read(request),
        (parameters) => answering(request, parameters, begin(request, parameters, `${action}?${request.query}`))
      )

    /** A form without a decision is a request like that of a visit (RFC 6749 §3.1): it changes nothing. */
    const submit: Endpoint = (request) =>
      Effect.flatMap(read(request), (parameters) =>
        parameters.values.has("decision")
          ? decide(request, [])
          : answering(request, parameters, begin(request, parameters, addressOf(parameters))))

    const decide: Endpoint = (request) =>
      Effect.flatMap(Forms.read(request, config, ["csrf", "decision"]), ({ isGenuine, parameters }) =>
        answering(
          request,
          parameters,
          Effect.gen(function*() {
            const signedIn = yield* authentication.identify(request)
            if (Option.isNone(signedIn)) return yield* begin(request, parameters, addressOf(parameters))
            if (!isGenuine(signedIn.value.csrf)) return errors.forged(request, addressOf(parameters))
            const checked = yield* check(parameters)
            switch (get(parameters, "decision")) {
              case "allow":
                return yield* Effect.catchIf(
                  authorization.allow(request, checked, signedIn.value.user),
                  (error) => error instanceof RoleMismatch,
                  () => ask(request, checked, signedIn.value, parameters, 403)
                )
              case "deny":
                return yield* authorization.deny(request, checked, signedIn.value.user)
              default:
                return yield* new Malformed({ what: "decision" })
            }
          })
        ))

    return { path, methods: { GET: visit, POST: submit }, refuse: errors.refuse }
  }
)
