/** How the list of an application's deliveries looks, and one of them with its attempts. */
import * as Option from "effect/Option"
import { type Attempt, type AttemptHour, type Delivery, State } from "@startlist/core/Delivery"
import { body, type Event } from "@startlist/core/Event"
import { Form, Value } from "../Form.tsx"
import { Layout } from "../Layout.tsx"
import { type Locale, messagesIn } from "../Locale.ts"
import { Facts, type Row, Table } from "../Table.tsx"
import { Instant } from "../Time.tsx"
import { AttemptChart } from "./AttemptChart.tsx"
import { type ApplicationContext, pathOf } from "./Owner.ts"

/** What an event is about, for people. */
const about = ({ objectId, objectType, updates }: Event, locale: Locale): string => {
  const { developer } = messagesIn(locale)
  return "registration_status" in updates && updates.registration_status === "test" &&
      objectId > Number.MAX_SAFE_INTEGER / 2
    ? developer.testEvent
    : developer.about(objectType, objectId)
}

const Badge = ({ locale, state }: { readonly locale: Locale; readonly state: State }) => (
  <span class={`badge ${state}`}>{messagesIn(locale).developer.states[state]}</span>
)

/** Address of a page of the list. */
export const listUrl = (
  { application, frame }: ApplicationContext,
  state: Option.Option<State>,
  after?: number
): string => {
  const query = [
    ...Option.match(state, { onNone: () => [], onSome: (some) => [`state=${some}`] }),
    ...(after === undefined ? [] : [`after=${after}`])
  ].join("&")
  return `${pathOf(frame, application)}/deliveries${query === "" ? "" : `?${query}`}`
}

const Filter = ({ context, state }: {
  readonly context: ApplicationContext
  readonly state: Option.Option<State>
}) => {
  const { developer } = messagesIn(context.frame.locale)
  const choices = [Option.none<State>(), ...State.literals.map((one) => Option.some<State>(one))]
  return (
    <nav aria-label={developer.deliveries.filter}>
      <ul class="tabs">
        {choices.map((choice) => (
          <li key={Option.getOrElse(choice, () => "all")}>
            <a
              href={listUrl(context, choice)}
              aria-current={Option.getOrNull(choice) === Option.getOrNull(state) ? "page" : undefined}
            >
              {Option.match(choice, {
                onNone: () => developer.deliveries.all,
                onSome: (one) => developer.states[one]
              })}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** How an attempt ended, with the status if that is the reason. */
const outcomeOf = ({ outcome, status }: Attempt, locale: Locale): string =>
  outcome === "rejected" && Option.isSome(status)
    ? `HTTP ${status.value}`
    : messagesIn(locale).developer.outcomes[outcome]

const rowOf = (
  { attempts, event, id, state }: Delivery,
  { application, frame }: ApplicationContext
): Row => {
  const { locale } = frame
  const { developer } = messagesIn(locale)
  const last = attempts.at(-1)
  return {
    key: id,
    cells: [
      <a href={`${pathOf(frame, application)}/deliveries/${id}`} aria-label={developer.deliveries.open(id)}>{id}</a>,
      <Badge state={state} locale={locale} />,
      about(event, locale),
      <Instant at={event.time} locale={locale} />,
      attempts.length,
      last === undefined ? "–" : outcomeOf(last, locale)
    ]
  }
}

export const DeliveriesView = ({ deliveries, hours, isFirst, next, context, state }: {
  readonly context: ApplicationContext
  readonly deliveries: ReadonlyArray<Delivery>
  readonly hours: ReadonlyArray<AttemptHour>
  readonly state: Option.Option<State>
  readonly isFirst: boolean
  /** Behind which delivery the next page begins, if there is one. */
  readonly next: Option.Option<number>
}) => {
  const { application, frame } = context
  const { developer: { chart, deliveries: words } } = messagesIn(frame.locale)
  return (
    <Layout frame={frame} title={words.title(application.name)}>
      <p>
        <a href={pathOf(frame, application)}>{application.name}</a>
      </p>
      <section class="card">
        <h2>{chart.title}</h2>
        <AttemptChart hours={hours} locale={frame.locale} />
      </section>
      <section class="card">
        <Filter context={context} state={state} />
        {deliveries.length === 0 ? <p class="muted">{words.none}</p> : (
          <Table
            label={words.title(application.name)}
            columns={[words.id, words.state, words.event, words.when, words.attempts, words.last]}
            rows={deliveries.map((delivery) => rowOf(delivery, context))}
          />
        )}
        <p class="row">
          {isFirst ? null : <a href={listUrl(context, state)} rel="first">{words.newest}</a>}
          {Option.match(next, {
            onNone: () => null,
            onSome: (after) => <a href={listUrl(context, state, after)} rel="next">{words.older}</a>
          })}
        </p>
      </section>
    </Layout>
  )
}

const Attempts = ({ attempts, locale }: Pick<Delivery, "attempts"> & { readonly locale: Locale }) => {
  const { developer: { delivery: words, milliseconds } } = messagesIn(locale)
  return attempts.length === 0 ? <p class="muted">{words.noAttempts}</p> : (
    <Table
      label={words.attempts}
      columns={[words.attempt, words.outcome, words.status, words.duration, words.at, words.answer]}
      rows={attempts.map((attempt, index) => ({
        key: index,
        cells: [
          index + 1,
          outcomeOf(attempt, locale),
          Option.getOrElse(attempt.status, () => "–"),
          milliseconds(attempt.durationMs),
          <Instant at={attempt.at} locale={locale} />,
          attempt.detail === "" ? "–" : <code>{attempt.detail}</code>
        ]
      }))}
    />
  )
}

/** The body as it is sent, with line breaks for people. */
const pretty = ({ event, subscriptionId }: Delivery): string =>
  JSON.stringify(JSON.parse(body(event, subscriptionId)), null, 2)

export const DeliveryView = ({ delivery, isRepeatable, context: { application, frame, signedIn } }: {
  readonly context: ApplicationContext
  readonly delivery: Delivery
  /** Whether its subscription is still there. */
  readonly isRepeatable: boolean
}) => {
  const { locale } = frame
  const { developer: { deliveries, delivery: words } } = messagesIn(locale)
  const { attempts, dueAt, event, id, state } = delivery
  const path = `${pathOf(frame, application)}/deliveries`
  return (
    <Layout frame={frame} title={words.title(id)}>
      <p>
        <a href={path}>{deliveries.title(application.name)}</a>
      </p>
      <section class="card">
        <Facts
          facts={[
            [deliveries.state, <Badge state={state} locale={locale} />],
            [words.event, about(event, locale)],
            [words.occurred, <Instant at={event.time} locale={locale} />],
            [words.webhookId, <Value name={words.webhookId}>{event.id}</Value>],
            ...(state === "pending" ? [[words.next, <Instant at={dueAt} locale={locale} />] as const] : [])
          ]}
        />
        {state === "pending"
          ? (
            <p>
              {words.queued} <a href={`${path}/${id}`}>{words.reload}</a>
            </p>
          )
          : null}
        <h2>{words.attempts}</h2>
        {state === "set_aside"
          ? <p>{words.setAside}</p>
          : null}
        {state === "set_aside" && attempts.length === 0 ? null : <Attempts attempts={attempts} locale={locale} />}
        {isRepeatable
          ? (
            <Form action={`${path}/${id}/redeliver`} csrf={signedIn.csrf}>
              <div class="row">
                <button type="submit" class="outline">{words.redeliver}</button>
                <span class="muted">{words.redeliverMeans}</span>
              </div>
            </Form>
          )
          : <p class="muted">{words.gone}</p>}
      </section>
      <section class="card">
        <h2>{words.body}</h2>
        <pre><code>{pretty(delivery)}</code></pre>
      </section>
    </Layout>
  )
}
