/** View of one application of a platform user: its webhook, its settings, its secret. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import type { InvalidApplication, Settings } from "@startlist/core/Application"
import type { Lifetime } from "@startlist/core/ApplicationSecret"
import { type Connected, connectedLimit } from "@startlist/core/OAuth"
import type { Subscription } from "@startlist/core/Subscription"
import type { Fields } from "@startlist/http/Authorization"
import { Check, Copyable, ErrorSummary, Field, Form, Value } from "../Form.tsx"
import { textsIn } from "../Locale.ts"
import { Facts, Instant } from "../Elements.tsx"
import { type ApplicationContext, ApplicationLayout, home, pathOf } from "./Owner.tsx"
import type { AttemptHour } from "./AttemptHours.ts"
import { LiveSecrets, nextOf } from "./SecretViews.tsx"
import { SettingsFields, SettingsProblem } from "./ApplicationsView.tsx"
import { WebhookCard, type WebhookProblem } from "./WebhookCard.tsx"

const Figures = ({ connected: { lastUse, users }, context: { application, frame }, hours }: {
  readonly connected: Connected
  readonly context: ApplicationContext
  readonly hours: ReadonlyArray<AttemptHour>
}) => {
  const { developer: { figures } } = textsIn(frame.locale)
  const { requestsPerMinute: limit } = application
  const failed = hours.reduce((sum, hour) => sum + hour.failed, 0)
  const attempts = hours.reduce((sum, { delivered }) => sum + delivered, failed)
  return (
    <section class="card">
      <h2>{figures.title}</h2>
      <Facts
        facts={[
          [figures.users, figures.count(users, users < connectedLimit)],
          [
            figures.lastUse,
            Option.match(lastUse, {
              onNone: () => figures.never,
              onSome: (at) => <Instant at={at} locale={frame.locale} />
            })
          ],
          [figures.failures, figures.rate(failed, attempts)],
          ...(limit === undefined ? [] : [[figures.limit, figures.perMinute(limit)] as const])
        ]}
      />
    </section>
  )
}

const AuthorizationLink = ({ address, context: { frame } }: {
  readonly context: ApplicationContext
  readonly address: Option.Option<string>
}) => {
  const { developer: { link } } = textsIn(frame.locale)
  return (
    <section class="card">
      <h2>{link.title}</h2>
      {Option.match(address, {
        onNone: () => <p class="muted">{link.none}</p>,
        onSome: (value) => (
          <>
            <p class="muted">{link.explanation}</p>
            <Copyable id="authorization-link" label={link.title} value={value} />
          </>
        )
      })}
    </section>
  )
}

const Secret = ({ formKey, isFull, overlap, secrets, context }: {
  readonly context: ApplicationContext
  readonly formKey: string
  readonly secrets: ReadonlyArray<Lifetime>
  readonly isFull: boolean
  readonly overlap: Duration.Duration
}) => {
  const { application, frame, signedIn } = context
  const { developer: { secret } } = textsIn(frame.locale)
  const action = `${pathOf(frame, application)}/secret`
  return (
    <section class="card">
      <h2>{secret.title}</h2>
      <p>{secret.hidden}</p>
      <LiveSecrets action={action} context={context} isFull={isFull} secrets={secrets} />
      <details class="step">
        <summary>{secret.rotate}</summary>
        <p>{secret.rotateMeans(Duration.toHours(overlap))}</p>
        <Form action={action} csrf={signedIn.csrf} hidden={[["number", nextOf(secrets)], ["key", formKey]]}>
          <Check name="end_now" label={secret.leaked} />
          <button type="submit" class="danger">{secret.rotateNow}</button>
        </Form>
      </details>
    </section>
  )
}

const Ending = ({ context: { application, frame, signedIn }, endFields, wrongName }: {
  readonly context: ApplicationContext
  readonly endFields: Fields
  readonly wrongName: string | undefined
}) => {
  const { developer: { ending } } = textsIn(frame.locale)
  return (
    <section class="card">
      <h2>{ending.title}</h2>
      <p>{ending.explanation}</p>
      <details class="step" open={wrongName !== undefined}>
        <summary>{ending.open}</summary>
        <p>{ending.means}</p>
        <Form action={`${pathOf(frame, application)}/end`} csrf={signedIn.csrf} hidden={endFields}>
          <Field
            id="confirmed-name"
            name="name"
            label={ending.typeName(application.name)}
            required
            autocomplete="off"
            value={wrongName ?? ""}
            problem={wrongName === undefined ? undefined : ending.wrongName(application.name)}
          />
          <button type="submit" class="danger">{ending.now}</button>
        </Form>
      </details>
    </section>
  )
}

/** View of an application. */
export const ApplicationView = (
  {
    authorizationLink,
    connected,
    context,
    endFields,
    formKey,
    hours,
    isFull = false,
    overlap,
    problem,
    secrets,
    subscribeAt,
    subscription,
    values,
    webhookProblem,
    wrongName
  }: {
    readonly context: ApplicationContext
    /** The address to which the application sends users, if it has a redirect URI. */
    readonly authorizationLink: Option.Option<string>
    readonly connected: Connected
    /** The problem if the subscription was not created just now. */
    readonly webhookProblem?: WebhookProblem | undefined
    /** The address of the endpoint that creates a subscription. */
    readonly subscribeAt: string
    readonly subscription: Option.Option<Subscription>
    readonly hours: ReadonlyArray<AttemptHour>
    /** Hidden fields of the form that deletes the application. */
    readonly endFields: Fields
    /** The key of the form that replaces the secret. */
    readonly formKey: string
    /** Its live client secrets, newest first. */
    readonly secrets: ReadonlyArray<Lifetime>
    /** Whether a further secret was refused. */
    readonly isFull?: boolean
    /** The time for which the current secret would stay valid beside a new one. */
    readonly overlap: Duration.Duration
    /** The typed name if it is not that of the application, which was to be deleted. */
    readonly wrongName?: string
    /** The stored settings, or the typed ones that were refused because of `problem`. */
    readonly values: Settings
    readonly problem?: InvalidApplication | undefined
  }
) => {
  const { application, frame, signedIn } = context
  const { developer: { applications, ending, settings } } = textsIn(frame.locale)
  return (
    <ApplicationLayout
      context={context}
      title={application.name}
      isError={problem !== undefined || webhookProblem !== undefined || isFull || wrongName !== undefined}
      back={false}
    >
      {wrongName === undefined ? null : (
        <ErrorSummary
          id="not-deleted"
          title={ending.title}
          problems={[["confirmed-name", ending.wrongName(application.name)]]}
        />
      )}
      <SettingsProblem locale={frame.locale} values={values} problem={problem} />
      <p class="row">
        <a href={frame.base + home}>{applications.title}</a>
        <span class="muted">
          {applications.clientId} <Value name={applications.clientId}>{application.id}</Value>
        </span>
      </p>
      <WebhookCard
        context={context}
        subscribeAt={subscribeAt}
        subscription={subscription}
        hours={hours}
        problem={webhookProblem}
      />
      <Figures connected={connected} context={context} hours={hours} />
      <AuthorizationLink context={context} address={authorizationLink} />
      <section class="card">
        <h2>{settings.title}</h2>
        <Form action={pathOf(frame, application)} csrf={signedIn.csrf}>
          <SettingsFields locale={frame.locale} values={values} problem={problem} />
          <button type="submit">{settings.save}</button>
        </Form>
      </section>
      <Secret context={context} formKey={formKey} secrets={secrets} isFull={isFull} overlap={overlap} />
      <Ending context={context} endFields={endFields} wrongName={wrongName} />
    </ApplicationLayout>
  )
}
