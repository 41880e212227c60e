/** View of an application's subscription: its state, its actions, and the form that creates one. */
import * as Option from "effect/Option"
import type { Subscription } from "@startlist/core/Subscription"
import { Alert, ErrorSummary, Field, Form, Value } from "../Form.tsx"
import { type Locale, textsIn } from "../Locale.ts"
import { Facts, Instant, Sentence } from "../Elements.tsx"
import type { Texts } from "../Texts.ts"
import { type ApplicationContext, ApplicationLayout, pathOf } from "./Owner.tsx"

/** The typed values of a subscription that was not created, and the reason. */
export interface WebhookProblem {
  readonly kind: keyof Texts["developer"]["webhook"]["problems"]
  readonly callbackUrl: string
  /** Why the callback cannot be reached, in English as in the list of attempts. */
  readonly detail?: string | undefined
}

const Subscribing = ({ context: { application, frame, signedIn }, problem }: {
  readonly context: ApplicationContext
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
      <Form action={`${pathOf(frame, application)}/subscription`} csrf={signedIn.csrf}>
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
  readonly context: ApplicationContext
  readonly problem: WebhookProblem | undefined
  readonly subscribeAt: string
  readonly subscription: Option.Option<Subscription>
}) => {
  const { application, frame, signedIn } = context
  const { developer: { webhook } } = textsIn(frame.locale)
  const path = pathOf(frame, application)
  return (
    <ApplicationLayout context={context} section="webhook" isError={problem !== undefined}>
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
    </ApplicationLayout>
  )
}
