/** `/developer/applications/{client_id}/webhook`: the subscription of an application, and test events. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { Application } from "@startlist/core/Application"
import { uninterrupted } from "@startlist/core/Audit"
import { Deliveries } from "@startlist/core/Deliveries"
import { Policy } from "@startlist/core/Policy"
import { Text } from "@startlist/core/Store"
import { Subscriptions } from "@startlist/core/Subscriptions"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import { redirect, type Request } from "@startlist/http/Http"
import { HttpConfig } from "@startlist/http/HttpConfig"
import * as ApplicationLimits from "@startlist/http/ApplicationLimits"
import { get, type Parameters } from "@startlist/http/Parameters"
import { Malformed } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import type { Subscription } from "@startlist/core/Subscription"
import * as Page from "../Page.ts"
import * as Owner from "./Owner.tsx"
import { Alert, ErrorSummary, Facts, Field, Form, Instant, Sentence, Value } from "../Elements.tsx"
import { type Locale, textsIn } from "../Locale.ts"
import type { Texts } from "../English.ts"

/** The routes of subscriptions and test events. */
export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Owner.Services | Deliveries | FailureLimit
> = Effect.gen(function*() {
  const deliveries = yield* Deliveries
  const subscriptions = yield* Subscriptions
  const policy = yield* Policy
  const { baseUrl } = yield* HttpConfig
  const owner = yield* Owner.make
  const { spend, validate } = yield* ApplicationLimits.make

  const here = (id: string | undefined) => `${Owner.home}/${id}/webhook`

  /** The address of this page, to which its forms lead. */
  const addressOf = ({ application, frame }: Owner.ApplicationContext) => `${Owner.pathOf(frame, application)}/webhook`

  const show = (context: Owner.ApplicationContext, status: number, problem?: WebhookProblem) =>
    Effect.map(subscriptions.findByApplication(context.application.id), (subscription) => {
      const subscribeAt = `${baseUrl}/api/v1/webhook_subscription`
      return Page.html(status, WebhookView({ context, problem, subscribeAt, subscription }))
    })

  const visit: Endpoint = (request, [id]) =>
    owner.withApplication(request, id, here(id), (context) => show(context, 200))

  const noteIn = (request: Request, context: Owner.ApplicationContext) =>
    owner.record(request, "subscription_changed", context, context.application)

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
              ? redirect(addressOf(context))
              : owner.outdated(request, context)
          )
        )
      const refuse = (kind: WebhookProblem["kind"], detail?: string) =>
        show(context, 422, { kind, callbackUrl, detail })
      if (verifyToken === "" || verifyToken.length > 1000 || !Schema.is(Text)(verifyToken)) {
        return yield* refuse("verify_token")
      }
      if (!Schema.is(Text)(callbackUrl)) return yield* refuse("invalid")
      const wanted = { callbackUrl, verifyToken: Redacted.make(verifyToken) }
      return yield* validate(application, subscriptions.subscribe(application.id, wanted)).pipe(
        Effect.tap(noteIn(request, context)),
        Effect.as(owner.done(context, addressOf(context), "subscribed", application.name)),
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
      if (action === "create") return uninterrupted(subscribe(request, context, parameters))
      const changed = change(action, application, get(parameters, "subscription"))
      return uninterrupted(Effect.tap(changed, noteIn(request, context))).pipe(
        Effect.map((kind) => owner.done(context, addressOf(context), kind, application.name)),
        Effect.catchTags({
          "@startlist/core/SubscriptionNotFound": () =>
            Effect.succeed(
              // The form was sent twice: the subscription that it names has ended.
              action === "end"
                ? redirect(addressOf(context))
                : owner.outdated(request, context)
            ),
          // The page was loaded before the operator paused the subscription.
          "@startlist/core/PausedByOperator": () => Effect.succeed(owner.outdated(request, context))
        })
      )
    }, here(id))

  const test: Endpoint = (request, [id]) =>
    owner.withForm(
      request,
      id,
      (context) =>
        spend("delivery", context.application.ownerId, deliveries.sendTest(context.application.id)).pipe(
          Effect.map((delivery) =>
            redirect(`${Owner.pathOf(context.frame, context.application)}/deliveries/${delivery.id}`)
          ),
          Effect.catchTag(
            "@startlist/core/SubscriptionNotFound",
            () => Effect.succeed(owner.outdated(request, context))
          )
        ),
      here(id)
    )

  const { refuse } = owner
  return [
    { path: `${Owner.home}/{client_id}/webhook`, methods: { GET: visit }, refuse },
    { path: `${Owner.home}/{client_id}/subscription`, methods: { POST: subscription }, refuse },
    { path: `${Owner.home}/{client_id}/test-event`, methods: { POST: test }, refuse }
  ]
})

/** The typed values of a subscription that was not created, and the reason. */
export interface WebhookProblem {
  readonly kind: keyof Texts["developer"]["webhook"]["problems"]
  readonly callbackUrl: string
  /** Why the callback cannot be reached, in English as in the list of attempts. */
  readonly detail?: string | undefined
}

const Subscribing = ({ context: { application, frame, signedIn }, problem }: {
  readonly context: Owner.ApplicationContext
  readonly problem: WebhookProblem | undefined
}) => {
  const { developer: { webhook } } = textsIn(frame.locale)
  const wrong = problem === undefined ? undefined : problem.kind === "verify_token" ? "verify_token" : "callback_url"
  return (
    <details class="step" open={problem !== undefined}>
      <summary>{webhook.create}</summary>
      {problem === undefined || wrong === undefined ?
        null :
        (
          <ErrorSummary
            id="webhook-problem"
            title={webhook.problem}
            problems={[[wrong, `${webhook.problems[problem.kind]} ${problem.detail ?? ""}`.trim()]]}
          />
        )}
      <Form action={`${Owner.pathOf(frame, application)}/subscription`} csrf={signedIn.csrf}>
        <Field
          name="callback_url"
          label={webhook.callback}
          hint={webhook.callbackHint}
          required
          maxLength={255}
          value={problem?.callbackUrl ?? ""}
          summary={wrong === "callback_url" ? "webhook-problem" : undefined}
        />
        <Field
          name="verify_token"
          label={webhook.verifyToken}
          hint={webhook.verifyTokenHint}
          required
          maxLength={1000}
          summary={wrong === "verify_token" ? "webhook-problem" : undefined}
        />
        <button type="submit" name="action" value="create">{webhook.subscribe}</button>
      </Form>
    </details>
  )
}

/** Whether a subscription is paused, in words. */
export const SubscriptionState = ({ locale, paused }: { readonly locale: Locale; readonly paused: boolean }) => {
  const { developer: { webhook } } = textsIn(locale)
  return paused
    ? <span class="badge pending">{webhook.paused}</span>
    : <span class="badge delivered">{webhook.active}</span>
}

/** View of the subscription of an application. */
export const WebhookView = ({ context, problem, subscribeAt, subscription }: {
  readonly context: Owner.ApplicationContext
  readonly problem: WebhookProblem | undefined
  readonly subscribeAt: string
  readonly subscription: Option.Option<Subscription>
}) => {
  const { application, frame, signedIn } = context
  const { developer: { webhook } } = textsIn(frame.locale)
  const path = Owner.pathOf(frame, application)
  return (
    <Owner.ApplicationLayout context={context} section="webhook" isError={problem !== undefined}>
      <section class="card">
        <h2>{webhook.title}</h2>
        {Option.match(subscription, {
          onNone: () => (
            <>
              <p>{webhook.none}</p>
              <p class="muted">
                <Sentence say={webhook.noneThen} about={<Value name="URL">{subscribeAt}</Value>} />
              </p>
              {application.state === "active" ? <Subscribing context={context} problem={problem} /> : null}
            </>
          ),
          onSome: ({ callbackUrl, createdAt, id, paused, pausedByOperator, updatedAt }) => (
            <>
              <Facts
                facts={[
                  [webhook.state, <SubscriptionState paused={paused} locale={frame.locale} />],
                  [webhook.callback, <Value name={webhook.callback}>{callbackUrl}</Value>],
                  [webhook.id, <Value name={webhook.id}>{id}</Value>],
                  [webhook.since, <Instant at={createdAt} locale={frame.locale} />],
                  [webhook.changed, <Instant at={updatedAt} locale={frame.locale} />]
                ]}
              />
              <div class="row">
                <Form action={`${path}/test-event`} csrf={signedIn.csrf}>
                  <button type="submit" class="outline">{webhook.test}</button>
                </Form>
                {pausedByOperator ? null : (
                  <Form action={`${path}/subscription`} csrf={signedIn.csrf}>
                    <button type="submit" class="outline" name="action" value={paused ? "resume" : "pause"}>
                      {paused ? webhook.resume : webhook.pause}
                    </button>
                  </Form>
                )}
              </div>
              {pausedByOperator
                ? (
                  <Alert kind="wait">
                    <p>{webhook.pausedByOperator}</p>
                  </Alert>
                )
                : null}
              <p class="muted">{webhook.testMeans} {webhook.pauseMeans}</p>
              <details class="step">
                <summary>{webhook.end}</summary>
                <p>{webhook.endMeans}</p>
                <Form action={`${path}/subscription`} csrf={signedIn.csrf} hidden={[["subscription", String(id)]]}>
                  <button type="submit" class="danger" name="action" value="end">{webhook.endNow}</button>
                </Form>
              </details>
            </>
          )
        })}
      </section>
    </Owner.ApplicationLayout>
  )
}
