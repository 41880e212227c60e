/** How one application of a platform user looks: its webhook, its settings, its secret. */
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import type { InvalidApplication, Settings } from "@startlist/core/Application"
import type { AttemptHour } from "@startlist/core/Delivery"
import type { Subscription } from "@startlist/core/Subscription"
import { Alert, Check, Form, Value } from "../Form.tsx"
import { Layout } from "../Layout.tsx"
import { messagesIn } from "../Locale.ts"
import { Sentence } from "../Sentence.tsx"
import { Facts } from "../Table.tsx"
import { Instant } from "../Time.tsx"
import { AttemptChart } from "./AttemptChart.tsx"
import { type ApplicationContext, home, pathOf } from "./Owner.ts"
import { SettingsFields, SettingsProblem } from "./SettingsFields.tsx"

const Webhook = ({ hours, context: { application, frame, signedIn }, subscribeAt, subscription }: {
  readonly context: ApplicationContext
  readonly subscribeAt: string
  readonly subscription: Option.Option<Subscription>
  readonly hours: ReadonlyArray<AttemptHour>
}) => {
  const { developer: { chart, signing, webhook } } = messagesIn(frame.locale)
  const path = pathOf(frame, application)
  return (
    <section class="card">
      <h2>{webhook.title}</h2>
      {Option.match(subscription, {
        onNone: () => (
          <>
            <p>{webhook.none}</p>
            <p class="muted">
              <Sentence say={webhook.noneThen} about={<Value name="URL">{subscribeAt}</Value>} />
            </p>
          </>
        ),
        onSome: ({ callbackUrl, createdAt, id, paused, updatedAt }) => (
          <>
            <Facts
              facts={[
                [
                  webhook.state,
                  paused
                    ? <span class="badge pending">{webhook.paused}</span>
                    : <span class="badge delivered">{webhook.active}</span>
                ],
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
              <Form action={`${path}/subscription`} csrf={signedIn.csrf}>
                <button type="submit" class="outline" name="action" value={paused ? "resume" : "pause"}>
                  {paused ? webhook.resume : webhook.pause}
                </button>
              </Form>
            </div>
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
      <p>
        <a href={`${path}/signing-secret`}>{signing.open}</a>
      </p>
      <h2>{chart.title}</h2>
      <AttemptChart hours={hours} locale={frame.locale} />
      <p>
        <a href={`${path}/deliveries`}>{webhook.deliveries}</a>
      </p>
    </section>
  )
}

const Secret = ({ formerUntil, overlap, context: { application, frame, signedIn } }: {
  readonly context: ApplicationContext
  readonly formerUntil: Option.Option<DateTime.Utc>
  readonly overlap: Duration.Duration
}) => {
  const { developer: { secret } } = messagesIn(frame.locale)
  return (
    <section class="card">
      <h2>{secret.title}</h2>
      <p>
        {Option.match(formerUntil, {
          onNone: () => secret.one,
          onSome: (until) => <Sentence say={secret.two} about={<Instant at={until} locale={frame.locale} />} />
        })}
      </p>
      <details class="step">
        <summary>{secret.rotate}</summary>
        <p>{secret.rotateMeans(Duration.toHours(overlap))}</p>
        <Form
          action={`${pathOf(frame, application)}/secret`}
          csrf={signedIn.csrf}
          hidden={[["version", String(application.version)]]}
        >
          <Check name="end_now" label={secret.leaked} />
          <button type="submit" class="danger">{secret.rotateNow}</button>
        </Form>
      </details>
    </section>
  )
}

const Ending = ({ context: { application, frame, signedIn } }: { readonly context: ApplicationContext }) => {
  const { developer: { ending } } = messagesIn(frame.locale)
  return (
    <section class="card">
      <h2>{ending.title}</h2>
      <p>{ending.explanation}</p>
      <details class="step">
        <summary>{ending.open}</summary>
        <p>{ending.means}</p>
        <Form action={`${pathOf(frame, application)}/end`} csrf={signedIn.csrf}>
          <button type="submit" class="danger">{ending.now}</button>
        </Form>
      </details>
    </section>
  )
}

export const ApplicationView = (
  { formerUntil, hours, isSaved = false, overlap, problem, context, subscribeAt, subscription, values }: {
    readonly context: ApplicationContext
    /** The address of the endpoint that makes a subscription. */
    readonly subscribeAt: string
    readonly subscription: Option.Option<Subscription>
    readonly hours: ReadonlyArray<AttemptHour>
    /** When its former secret ends, if there is one. */
    readonly formerUntil: Option.Option<DateTime.Utc>
    /** How long the present secret would stay good beside a new one. */
    readonly overlap: Duration.Duration
    /** Whether the settings were saved just now. */
    readonly isSaved?: boolean
    /** The settings as they are, or as they were typed and refused because of `problem`. */
    readonly values: Settings
    readonly problem?: InvalidApplication | undefined
  }
) => {
  const { application, frame, signedIn } = context
  const { developer: { applications, ending, settings } } = messagesIn(frame.locale)
  return (
    <Layout frame={frame} title={application.name} isError={problem !== undefined}>
      {isSaved
        ? (
          <Alert kind="good">
            <p>{settings.saved}</p>
          </Alert>
        )
        : null}
      {application.state === "suspended"
        ? (
          <Alert kind="bad">
            <p>{ending.suspended}</p>
          </Alert>
        )
        : null}
      <SettingsProblem locale={frame.locale} values={values} problem={problem} />
      <p class="row">
        <a href={frame.base + home}>{applications.title}</a>
        <span class="muted">
          {applications.clientId} <Value name={applications.clientId}>{application.id}</Value>
        </span>
      </p>
      <Webhook context={context} subscribeAt={subscribeAt} subscription={subscription} hours={hours} />
      <section class="card">
        <h2>{settings.title}</h2>
        <Form action={pathOf(frame, application)} csrf={signedIn.csrf}>
          <SettingsFields locale={frame.locale} values={values} problem={problem} />
          <button type="submit">{settings.save}</button>
        </Form>
      </section>
      <Secret context={context} formerUntil={formerUntil} overlap={overlap} />
      <Ending context={context} />
    </Layout>
  )
}
