/** Views of a platform user's applications: the list with the form for a new one, and one application. */
import * as Option from "effect/Option"
import type { Application, InvalidApplication, Settings } from "@startlist/core/Application"
import { type Connected, connectedLimit } from "@startlist/core/OAuth"
import type { Subscription } from "@startlist/core/Subscription"
import { Alert, Copyable, Day, Facts, Form, Instant, Table, Value } from "../Elements.tsx"
import { textsIn } from "../Locale.ts"
import { Layout } from "../Layout.tsx"
import { type ApplicationContext, ApplicationLayout, home, type OwnerContext, pathOf } from "./Owner.tsx"
import { SettingsFields, SettingsProblem } from "./SettingsView.tsx"
import { AttemptChart } from "./AttemptChart.tsx"
import type { AttemptHour } from "./SentDeliveries.ts"
import { SubscriptionState } from "./WebhookPages.tsx"

/** A refused form, which is shown again. */
export interface Refused {
  readonly values: Settings
  readonly problem: InvalidApplication | undefined
}

const blank: Settings = { name: "", redirectUris: [], requirePkce: false }

/** View of the applications, and of the form for a new one. */
export const ApplicationsView = ({ applications, formKey, more, refused, context: { frame, signedIn } }: {
  readonly context: OwnerContext
  readonly applications: ReadonlyArray<Application>
  /** Whether there are older ones. */
  readonly more: boolean
  /** The key of the form. */
  readonly formKey: string
  readonly refused?: Refused
}) => {
  const { applications: list, registering } = textsIn(frame.locale).developer
  const oldest = applications.at(-1)
  return (
    <Layout frame={frame} title={list.title} isError={refused !== undefined}>
      {refused === undefined ? null : refused.problem === undefined
        ? (
          <Alert kind="wait">
            <p>{registering.outdated}</p>
          </Alert>
        )
        : <SettingsProblem locale={frame.locale} values={refused.values} problem={refused.problem} />}
      <p class="lead">{list.explanation}</p>
      <section class="card">
        {applications.length === 0 ?
          (
            <>
              <p>
                <strong>{list.none}</strong>
              </p>
              <ol>
                {list.steps.map((step) => <li key={step}>{step}</li>)}
              </ol>
              {frame.brand.guide === undefined ? null : (
                <p>
                  <a href={frame.brand.guide}>{list.guide}</a>
                </p>
              )}
            </>
          ) :
          (
            <Table
              label={list.title}
              columns={[list.name, list.clientId, list.created]}
              rows={applications.map((application) => ({
                key: application.id,
                cells: [
                  <a href={pathOf(frame, application)}>{application.name}</a>,
                  application.id,
                  <Day at={application.createdAt} locale={frame.locale} />
                ]
              }))}
            />
          )}
        {more && oldest !== undefined ? <a href={`${frame.base}${home}?after=${oldest.id}`}>{list.more}</a> : null}
      </section>
      <section class="card">
        <h2>{registering.title}</h2>
        <Form action={frame.base + home} csrf={signedIn.csrf} hidden={[["key", formKey]]}>
          <SettingsFields locale={frame.locale} values={refused?.values ?? blank} problem={refused?.problem} />
          <button type="submit">{registering.submit}</button>
        </Form>
      </section>
    </Layout>
  )
}

interface Props {
  readonly context: ApplicationContext
  /** The address to which the application sends users, if it has a redirect URI. */
  readonly authorizationLink: Option.Option<string>
  readonly connected: Connected
  readonly subscription: Option.Option<Subscription>
  readonly hours: ReadonlyArray<AttemptHour>
}

const Figures = (
  { connected: { lastUse, users }, context: { application, frame }, hours, subscription }: Omit<
    Props,
    "authorizationLink"
  >
) => {
  const { developer: { applications, figures, webhook } } = textsIn(frame.locale)
  const { requestsPerMinute: limit } = application
  const failed = hours.reduce((sum, hour) => sum + hour.failed, 0)
  const attempts = hours.reduce((sum, { delivered }) => sum + delivered, failed)
  return (
    <section class="card">
      <h2>{figures.title}</h2>
      <Facts
        facts={[
          [applications.clientId, <Value name={applications.clientId}>{application.id}</Value>],
          [
            webhook.title,
            Option.match(subscription, {
              onNone: () => <a href={`${pathOf(frame, application)}/webhook`}>{figures.subscribe}</a>,
              onSome: ({ paused }) => <SubscriptionState paused={paused} locale={frame.locale} />
            })
          ],
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

const AuthorizationLink = ({ authorizationLink, context: { application, frame } }: Pick<
  Props,
  "authorizationLink" | "context"
>) => {
  const { developer: { link } } = textsIn(frame.locale)
  return (
    <section class="card">
      <h2>{link.title}</h2>
      {Option.match(authorizationLink, {
        onNone: () => <p class="muted">{link.none}</p>,
        onSome: (value) => (
          <>
            <p class="muted">{link.explanation}</p>
            {application.requirePkce ? <p>{link.pkce}</p> : null}
            <Copyable id="authorization-link" label={link.title} value={value} />
          </>
        )
      })}
    </section>
  )
}

/** View of an application. */
export const ApplicationView = ({ authorizationLink, connected, context, hours, subscription }: Props) => {
  const { frame } = context
  const { developer: { chart } } = textsIn(frame.locale)
  return (
    <ApplicationLayout context={context} section="overview">
      <Figures connected={connected} context={context} hours={hours} subscription={subscription} />
      <section class="card">
        <h2>{chart.title}</h2>
        <AttemptChart hours={hours} locale={frame.locale} />
      </section>
      <AuthorizationLink context={context} authorizationLink={authorizationLink} />
    </ApplicationLayout>
  )
}
