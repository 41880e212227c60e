/** `/developer/applications`: a platform user's applications, their settings and secrets. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { Application, InvalidApplication, Settings } from "@startlist/core/Application"
import { live } from "@startlist/core/ApplicationSecret"
import { Applications, type Created, type Registered } from "@startlist/core/Applications"
import { OAuth } from "@startlist/core/OAuth"
import { Policy } from "@startlist/core/Policy"
import type { Secrets } from "@startlist/core/Secrets"
import { Text } from "@startlist/core/Store"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { redirect, type Request, type Response } from "@startlist/http/Http"
import { type Audit, uninterrupted } from "@startlist/core/Audit"
import * as OwnerLimits from "@startlist/http/OwnerLimits"
import { get, type Parameters, parseClientId, readOnce, write } from "@startlist/http/Parameters"
import { Malformed, NotFound } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import type { Authentication } from "../../Authentication.ts"
import * as Forms from "../Forms.ts"
import * as Page from "../Page.ts"
import { ApplicationsView, readSettings, type Refused } from "./ApplicationsView.tsx"
import { ApplicationView } from "./ApplicationView.tsx"
import * as Owner from "./Owner.tsx"
import { SecretView } from "./SecretViews.tsx"
import { SentDeliveries } from "./SentDeliveries.ts"
import type { WebhookProblem } from "./WebhookCard.tsx"

const pageSize = 50

/** The routes of a platform user's applications. */
export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  | Applications
  | Audit
  | Authentication
  | FailureLimit
  | HttpConfig
  | OAuth
  | Secrets
  | SentDeliveries
  | Subscriptions
> = Effect.gen(function*() {
  const applications = yield* Applications
  const sent = yield* SentDeliveries
  const oauth = yield* OAuth
  const subscriptions = yield* Subscriptions
  const policy = yield* Policy
  const config = yield* HttpConfig
  const { authUrl, baseUrl } = config
  const base = basePath(config)
  const owner = yield* Owner.make
  const { spend, validate } = yield* OwnerLimits.make
  const formKeys = yield* Forms.makeKeys

  const ownedBy = ({ signedIn }: Owner.OwnerContext, after: Option.Option<Application["id"]>, limit: number) =>
    applications.list({ owner: Option.some(signedIn.user.id), after, limit })

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
        formKey: yield* formKeys.make,
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

  /** The application that an earlier request with this secret has registered, as the answer to that request. */
  const registeredBefore = (context: Owner.OwnerContext, secret: Redacted.Redacted<string>) =>
    Effect.gen(function*() {
      const newest = yield* ownedBy(context, Option.none(), pageSize)
      const found = yield* Effect.findFirst(newest, ({ secrets }) => formKeys.isIn(secrets, secret))
      if (Option.isNone(found)) return Option.none<Created>()
      const application = found.value
      const [signing] = (yield* applications.signingSecrets(application.id)).secrets
      return Option.fromNullable(signing && { application, secret, signingSecret: signing.value })
    }).pipe(Effect.catchTag("@startlist/core/ApplicationNotFound", () => Effect.succeed(Option.none<Created>())))

  const register: Endpoint = (request) =>
    owner.withOwner(
      request,
      Owner.home,
      (context) =>
        owner.posted(request, context, (parameters) =>
          Effect.gen(function*() {
            const values = readSettings(parameters)
            const ownerId = context.signedIn.user.id
            const showNew = (registered: Created) =>
              Page.html(201, SecretView({ context, registered, formerUntil: Option.none() }))
            const secret = yield* formKeys.secretOf(get(parameters, "key"), ownerId, JSON.stringify(values))
            if (Option.isNone(secret)) {
              return yield* showList(context, 409, { refused: { values, problem: undefined } })
            }
            const before = yield* registeredBefore(context, secret.value)
            if (Option.isSome(before)) return showNew(before.value)
            const create = applications.create(ownerId, values, secret.value)
            return yield* uninterrupted(
              spend("application", ownerId, create).pipe(
                Effect.tap(({ application }) => owner.record(request, "application_created", context, application)),
                Effect.map(showNew)
              )
            ).pipe(
              Effect.catchTags({
                // Another request of the same form was faster.
                "@startlist/core/Conflict": () =>
                  Effect.flatMap(
                    registeredBefore(context, secret.value),
                    Option.match({
                      onNone: () => showList(context, 409, { refused: { values, problem: undefined } }),
                      onSome: (registered) => Effect.succeed(showNew(registered))
                    })
                  ),
                "@startlist/core/InvalidApplication": (problem) =>
                  showList(context, 422, { refused: { values, problem } })
              })
            )
          }))
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
    /** The name that was typed to delete the application, if it is another one. */
    readonly wrongName?: string
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
        hours: yield* sent.lastDay(application),
        secrets: live(application.secrets, yield* DateTime.now),
        formKey: yield* formKeys.make,
        endFields: owner.notices.fields("deleted", application.name, context.signedIn),
        overlap: policy.secretOverlap
      })
      return Page.html(status, view)
    })

  const one: Endpoint = (request, [id]) =>
    owner.withApplication(
      request,
      id,
      `${Owner.home}/${id}`,
      (context) => showOne(context, 200, {})
    )

  const save: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) => {
      const values = readSettings(parameters)
      return applications.change(context.application.id, values).pipe(
        Effect.tap((changed) => owner.record(request, "application_changed", context, changed)),
        uninterrupted,
        Effect.map(({ name }) => owner.done(context, Owner.pathOf(context.frame, context.application), "saved", name)),
        Effect.catchTags({
          "@startlist/core/ApplicationNotFound": () => new NotFound(),
          "@startlist/core/InvalidApplication": (problem) => showOne(context, 422, { problem, values })
        })
      )
    })

  const showRotated = (context: Owner.ApplicationContext, registered: Registered) =>
    Effect.map(DateTime.now, (now) => {
      const former = live(registered.application.secrets, now)[1]
      const formerUntil = Option.flatMap(Option.fromNullable(former), ({ expiresAt }) => expiresAt)
      return Page.html(200, SecretView({ context, registered, formerUntil }))
    })

  const rotate: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      Effect.gen(function*() {
        const { id: applicationId } = context.application
        const overlap = get(parameters, "end_now") === "true" ? Duration.zero : policy.secretOverlap
        const number = Number(get(parameters, "number"))
        const secret = yield* formKeys.secretOf(
          get(parameters, "key"),
          applicationId,
          number,
          Duration.toMillis(overlap)
        )
        if (Option.isNone(secret)) return owner.outdated(request, context)
        const rotation = { overlap, number, secret: secret.value }
        /** The answer to an earlier request of the same form, or `otherwise`. */
        const repeated = <E>(otherwise: Effect.Effect<Response, E>) =>
          Effect.gen(function*() {
            const application = yield* applications.find(applicationId)
            return (yield* formKeys.isIn(application.secrets, secret.value))
              ? yield* showRotated(context, { application, secret: secret.value })
              : yield* otherwise
          })
        const replaced = uninterrupted(Effect.tap(
          applications.rotateSecret(applicationId, rotation),
          owner.record(request, "secret_rotated", context, context.application)
        )).pipe(Effect.flatMap((registered) => showRotated(context, registered)))
        return yield* Effect.catchTag(replaced, "@startlist/core/SecretRefused", ({ reason }) =>
          repeated(
            reason === "too_many"
              ? showOne(context, 409, { isFull: true })
              : Effect.succeed(owner.outdated(request, context))
          ))
      }).pipe(Effect.catchTag("@startlist/core/ApplicationNotFound", () => new NotFound())))

  /** Creates a subscription from a form, like the endpoint of the API. */
  const subscribe = (request: Request, context: Owner.ApplicationContext, parameters: Parameters) =>
    Effect.gen(function*() {
      const { application } = context
      if (application.state !== "active") return owner.outdated(request, context)
      const callbackUrl = get(parameters, "callback_url")?.trim() ?? ""
      const verifyToken = get(parameters, "verify_token") ?? ""
      /** The answer to a form that is sent twice. It waits for the callback if `isRunning`. */
      const subscribedBefore = (isRunning: boolean) =>
        subscriptions.findByApplication(application.id).pipe(
          Effect.repeat({
            until: (found) => !isRunning || Option.isSome(found),
            schedule: Schedule.spaced("200 millis").pipe(Schedule.upTo(policy.callbackTimeout))
          }),
          Effect.flatMap((_) => subscriptions.findByApplication(application.id)),
          Effect.map((found) =>
            Option.exists(found, (present) => present.callbackUrl === callbackUrl)
              ? redirect(Owner.pathOf(context.frame, application))
              : owner.outdated(request, context)
          )
        )
      const refuse = (kind: WebhookProblem["kind"], detail?: string) =>
        showOne(context, 422, { webhookProblem: { kind, callbackUrl, detail } })
      if (verifyToken === "" || verifyToken.length > 1000 || !Schema.is(Text)(verifyToken)) {
        return yield* refuse("verify_token")
      }
      if (!Schema.is(Text)(callbackUrl)) return yield* refuse("invalid")
      const wanted = { callbackUrl, verifyToken: Redacted.make(verifyToken) }
      return yield* validate(application, subscriptions.subscribe(application.id, wanted)).pipe(
        Effect.as(owner.done(context, Owner.pathOf(context.frame, application), "subscribed", application.name)),
        Effect.catchTags({
          "@startlist/core/AlreadySubscribed": () => subscribedBefore(false),
          // The form was sent twice, and the first request still waits for the callback.
          "@startlist/http/TooMany": (refusal) =>
            subscribedBefore(true).pipe(Effect.filterOrFail(({ status }) => status === 303, () => refusal)),
          "@startlist/core/ApplicationNotFound": () => Effect.succeed(owner.outdated(request, context)),
          "@startlist/core/InvalidCallbackUrl": ({ reason }) => refuse(reason),
          "@startlist/core/ValidationFailed": ({ detail, reason }) => refuse(reason, detail)
        })
      )
    })

  /** Pauses, resumes or ends the subscription. To end it, the form names it: there may be another one now. */
  const change = (action: string | undefined, application: Application, named: string | undefined) =>
    Effect.gen(function*() {
      switch (action) {
        case "pause":
          return yield* Effect.as(subscriptions.pause(application.id, "owner"), "paused" as const)
        case "resume":
          return yield* Effect.as(subscriptions.resume(application.id, "owner"), "resumed" as const)
        case "end":
          return yield* Effect.as(subscriptions.end(application.id, Option.some(Number(named))), "ended" as const)
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
        return uninterrupted(
          Effect.tap(subscribe(request, context, parameters), ({ status }) => status === 303 ? note : Effect.void)
        )
      }
      return uninterrupted(Effect.tap(change(action, application, get(parameters, "subscription")), note)).pipe(
        Effect.map((kind) => owner.done(context, Owner.pathOf(context.frame, application), kind, application.name)),
        Effect.catchTags({
          "@startlist/core/SubscriptionNotFound": () =>
            Effect.succeed(
              // The form was sent twice: the subscription that it names has ended.
              action === "end"
                ? redirect(Owner.pathOf(context.frame, application))
                : owner.outdated(request, context)
            ),
          // The page was loaded before the operator paused the subscription.
          "@startlist/core/PausedByOperator": () => Effect.succeed(owner.outdated(request, context))
        })
      )
    })

  /** Deletes the application. A form that is sent twice finds none: the list shows that it has ended. */
  const end: Endpoint = (request, [id]) =>
    owner.withForm(request, id, (context, parameters) =>
      Effect.gen(function*() {
        const { application: { id: applicationId, name }, frame } = context
        const typed = get(parameters, "name")?.trim().normalize("NFC") ?? ""
        if (typed !== name.normalize("NFC")) return yield* showOne(context, 422, { wrongName: typed })
        yield* uninterrupted(Effect.tap(
          applications.end(applicationId),
          owner.record(request, "application_ended", context, context.application)
        ))
        return owner.done(context, frame.base + Owner.home, "deleted", name)
      }).pipe(Effect.catchTag("@startlist/core/ApplicationNotFound", () => new NotFound()))).pipe(
        Effect.catchTag("@startlist/http/NotFound", () =>
          owner.withOwner(request, Owner.home, (context) =>
            owner.posted(request, context, (parameters) => {
              const name = owner.notices.aboutIn(parameters, "deleted", context.signedIn)
              const list = base + Owner.home
              return Effect.succeed(name === undefined ? redirect(list) : owner.done(context, list, "deleted", name))
            })))
      )

  const { refuse } = owner
  return [
    { path: Owner.home, methods: { GET: list, POST: register }, refuse },
    { path: `${Owner.home}/{client_id}`, methods: { GET: one, POST: save }, refuse },
    { path: `${Owner.home}/{client_id}/secret`, methods: { POST: rotate }, refuse },
    { path: `${Owner.home}/{client_id}/subscription`, methods: { POST: subscription }, refuse },
    { path: `${Owner.home}/{client_id}/end`, methods: { POST: end }, refuse }
  ]
})
