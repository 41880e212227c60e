/** View of one application of a platform user: its use, the attempts of the last day, and the link for users. */
import * as Option from "effect/Option"
import { type Connected, connectedLimit } from "@startlist/core/OAuth"
import type { Subscription } from "@startlist/core/Subscription"
import { Copyable, Value } from "../Form.tsx"
import { textsIn } from "../Locale.ts"
import { Facts, Instant } from "../Elements.tsx"
import { AttemptChart } from "./AttemptChart.tsx"
import type { AttemptHour } from "./AttemptHours.ts"
import { type ApplicationContext, ApplicationLayout, pathOf } from "./Owner.tsx"
import { SubscriptionState } from "./WebhookView.tsx"

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
