/** `/developer/applications`: a platform user's applications, their settings and secrets. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Application, InvalidApplication, Settings } from "@startlist/core/Application"
import { live } from "@startlist/core/ApplicationSecret"
import { Applications } from "@startlist/core/Applications"
import type { Deliveries } from "@startlist/core/Deliveries"
import { OAuth } from "@startlist/core/OAuth"
import { Policy } from "@startlist/core/Policy"
import { Text } from "@startlist/core/Store"
import { Subscriptions } from "@startlist/core/Subscriptions"
import type { UserId } from "@startlist/core/User"
import { redirect, type Request } from "@startlist/http/Message"
import { recorded } from "@startlist/http/Audit"
import * as Allowance from "@startlist/http/Allowance"
import * as Validations from "@startlist/http/Validations"
import { type Parameters, parseClientId } from "@startlist/http/Parameters"
import { get, readOnce, write } from "@startlist/http/Parameters"
import { Malformed, NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import { HttpConfig } from "@startlist/http/HttpConfig"
import type { Throttle } from "@startlist/http/Throttle"
import type { Authentication } from "../../Authentication.ts"
import * as Page from "../Page.ts"
import { ApplicationsView, type Refused } from "./ApplicationsView.tsx"
import { ApplicationView } from "./ApplicationView.tsx"
import * as Owner from "./Owner.ts"
import { SecretView } from "./SecretView.tsx"
import * as SentDeliveries from "./SentDeliveries.ts"
import { readSettings } from "./SettingsFields.tsx"
import type { WebhookProblem } from "./WebhookCard.tsx"

const pageSize = 50

export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Applications | Deliveries | OAuth | Subscriptions | Throttle | Authentication
> = Effect.gen(function*() {
  const applications = yield* Applications
  const sent = yield* SentDeliveries.make
  const oauth = yield* OAuth
  const subscriptions = yield* Subscriptions
  const policy = yield* Policy
  const { authUrl, baseUrl } = yield* HttpConfig
  const owner = yield* Owner.make
  const spend = yield* Allowance.make
  const validate = yield* Validations.make

  /** Owners with a registration in progress. A double click must not register two applications. */
  const registering = new Set<UserId>()

  const ownedBy = ({ signedIn }: Owner.OwnerContext, after: Option.Option<Application["id"]>, limit: number) =>
    applications.list({ owner: Option.some(signedIn.user.id), after, limit })

  /** The first application of the list, to detect a form that is sent twice. */
  const newestOf = (context: Owner.OwnerContext) =>
    Effect.map(ownedBy(context, Option.none(), 1), ([newest]) => String(newest?.id ?? 0))

  const showList = (
    context: Owner.OwnerContext,
    status: number,
    shown: { readonly after?: Option.Option<Application["id"]>; readonly refused?: Refused } = {}
  ) =>
    Effect.gen(function*() {
      const found = yield* ownedBy(context, shown.after ?? Option.none(), pageSize + 1)
      const view = ApplicationsView({
        context,
        applications: found.slice(0, pageSize),
        more: found.length > pageSize,
        newest: yield* newestOf(context),
        ...(shown.refused === undefined ? {} : { refused: shown.refused })
      })
      return Page.html(status, view)
    })

  const list: Endpoint = (request) =>
    owner.withOwner(request, Owner.home, (context) =>
      Effect.gen(function*() {
        const after = Option.flatMap(Option.fromNullable(get(yield* readOnce(request), "after")), parseClientId)
        return yield* showList(context, 200, { after })
      }))

  const register: Endpoint = (request) =>
    owner.withOwner(
      request,
      Owner.home,
      (context) =>
        owner.posted(request, context, (parameters) =>
          recorded(Effect.suspend(() => {
            const values = readSettings(parameters)
            const ownerId = context.signedIn.user.id
            const outdated = showList(context, 409, { refused: { values, problem: undefined } })
            if (registering.has(ownerId)) return outdated
            registering.add(ownerId)
            return Effect.gen(function*() {
              if (get(parameters, "newest") !== (yield* newestOf(context))) return yield* outdated
              const registered = yield* spend("application", ownerId, applications.create(ownerId, values))
              yield* owner.record(request, "application_created", context, registered.application)
              return Page.html(201, SecretView({ context, registered, formerUntil: Option.none() }))
            }).pipe(Effect.ensuring(Effect.sync(() => registering.delete(ownerId))))
          })).pipe(
            Effect.catchTag(
              "InvalidApplication",
              (problem) => showList(context, 422, { refused: { values: readSettings(parameters), problem } })
            )
          ))
    )

  /** The address to which the application sends users. */
  const linkOf = ({ id, redirectUris: [redirectUri] }: Application) =>
    Option.map(Option.fromNullable(redirectUri), (redirectUri) =>
      `${authUrl}/oauth/authorize?${
        write([
          ["client_id", String(id)],
          ["redirect_uri", redirectUri],
          ["response_type", "code"],
          ["scope", policy.scopes.includes("read") ? "read" : policy.scopes.join(" ")],
          ["state", "STATE"]
        ])
      }`)

  const showOne = (context: Owner.ApplicationContext, status: number, shown: {
    readonly isSaved?: boolean
    readonly isFull?: boolean
    readonly values?: Settings
    readonly problem?: InvalidApplication
    readonly webhookProblem?: WebhookProblem
  }) =>
    Effect.gen(function*() {
      const { application } = context
      const view = ApplicationView({
        values: application,
        ...shown,
        context,
        connected: yield* oauth.connected(application.id),
        authorizationLink: linkOf(application),
        subscribeAt: `${baseUrl}/api/v1/webhook_subscription`,
        subscription: yield* subscriptions.findByApplication(application.id),
        hours: yield* sent.lastDay(application.id),
        secrets: live(application.secrets, yield* DateTime.now),
        overlap: policy.secretOverlap
      })
      return Page.html(status, view)
    })

  const one: Endpoint = (request, [id]) =>
    owner.withApplication(
      request,
      id,
      `${Owner.home}/${id}`,
      (context) =>
        Effect.flatMap(
          readOnce(request),
          (parameters) => showOne(context, 200, { isSaved: get(parameters, "saved") !== undefined })
        )
    )

  const save: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) => {
      const values = readSettings(parameters)
      return applications.change(context.application.id, values).pipe(
        Effect.tap((changed) => owner.record(request, "application_changed", context, changed)),
        recorded,
        Effect.as(redirect(`${Owner.pathOf(context.frame, context.application)}?saved=yes`)),
        Effect.catchTags({
          ApplicationNotFound: () => new NotFound(),
          InvalidApplication: (problem) => showOne(context, 422, { problem, values })
        })
      )
    })

  const rotate: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      Effect.gen(function*() {
        const { application } = context
        const overlap = get(parameters, "end_now") === "true" ? Duration.zero : policy.secretOverlap
        const registered = yield* recorded(Effect.tap(
          applications.rotateSecret(application.id, { overlap, number: Number(get(parameters, "number")) }),
          owner.record(request, "secret_rotated", context, application)
        ))
        const former = live(registered.application.secrets, yield* DateTime.now)[1]
        const formerUntil = Option.flatMap(Option.fromNullable(former), ({ expiresAt }) => expiresAt)
        return Page.html(200, SecretView({ context, registered, formerUntil }))
      }).pipe(Effect.catchTags({
        ApplicationNotFound: () => new NotFound(),
        SecretRefused: ({ reason }) =>
          reason === "too_many"
            ? showOne(context, 409, { isFull: true })
            : Effect.succeed(owner.outdated(request, context))
      })))

  /** Creates a subscription from a form, like the endpoint of the API. */
  const subscribe = (request: Request, context: Owner.ApplicationContext, parameters: Parameters) =>
    Effect.gen(function*() {
      const { application } = context
      if (application.state !== "active") return owner.outdated(request, context)
      const callbackUrl = get(parameters, "callback_url")?.trim() ?? ""
      const verifyToken = get(parameters, "verify_token") ?? ""
      const refuse = (kind: WebhookProblem["kind"]) => showOne(context, 422, { webhookProblem: { kind, callbackUrl } })
      if (verifyToken === "" || verifyToken.length > 1000 || !Schema.is(Text)(verifyToken)) {
        return yield* refuse("verify_token")
      }
      if (!Schema.is(Text)(callbackUrl)) return yield* refuse("invalid")
      const wanted = { callbackUrl, verifyToken: Redacted.make(verifyToken) }
      return yield* validate(application, subscriptions.subscribe(application.id, wanted)).pipe(
        Effect.as(redirect(Owner.pathOf(context.frame, application))),
        Effect.catchTags({
          AlreadySubscribed: () => Effect.succeed(owner.outdated(request, context)),
          ApplicationNotFound: () => Effect.succeed(owner.outdated(request, context)),
          InvalidCallbackUrl: ({ reason }) => refuse(reason),
          ValidationFailed: ({ reason }) => refuse(reason)
        })
      )
    })

  /** Pauses, resumes or ends the subscription. To end it, the form names it: there may be another one now. */
  const change = (action: string | undefined, application: Application, named: string | undefined) =>
    Effect.gen(function*() {
      switch (action) {
        case "pause":
          return yield* Effect.asVoid(subscriptions.pause(application.id))
        case "resume":
          return yield* Effect.asVoid(subscriptions.resume(application.id))
        case "end":
          return yield* subscriptions.end(application.id, Option.some(Number(named)))
        default:
          return yield* new Malformed({ what: "action" })
      }
    })

  const subscription: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) => {
      const { application } = context
      const action = get(parameters, "action")
      const note = owner.record(request, "subscription_changed", context, application)
      if (action === "create") {
        return recorded(
          Effect.tap(subscribe(request, context, parameters), ({ status }) => status === 303 ? note : Effect.void)
        )
      }
      return recorded(Effect.tap(change(action, application, get(parameters, "subscription")), note)).pipe(
        Effect.as(redirect(Owner.pathOf(context.frame, application))),
        Effect.catchTag("SubscriptionNotFound", () => Effect.succeed(owner.outdated(request, context)))
      )
    })

  const { refuse } = owner
  return [
    { path: Owner.home, methods: { GET: list, POST: register }, refuse },
    { path: `${Owner.home}/{client_id}`, methods: { GET: one, POST: save }, refuse },
    { path: `${Owner.home}/{client_id}/secret`, methods: { POST: rotate }, refuse },
    { path: `${Owner.home}/{client_id}/subscription`, methods: { POST: subscription }, refuse }
  ]
})
