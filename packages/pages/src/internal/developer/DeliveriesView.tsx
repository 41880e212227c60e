/** How the list of an application's deliveries looks, and one of them with its attempts. */
import * as Option from "effect/Option"
import { type Attempt, type AttemptHour, type Delivery, State } from "@startlist/core/Delivery"
import { body, type Event } from "@startlist/core/Event"
import { Alert, Copyable, Field, Form, Value } from "../Form.tsx"
import { type Locale, messagesIn } from "../Locale.ts"
import { Facts, type Row, Table } from "../Table.tsx"
import { Instant } from "../Time.tsx"
import { write } from "@startlist/http/Parameters"
import { ApplicationLayout } from "./ApplicationLayout.tsx"
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

/** What is looked for, as it was typed. Empty: everything. */
export interface Typed {
  readonly state: string
  readonly text: string
  readonly since: string
  readonly until: string
}

/** Nothing was typed. */
export const everything: Typed = { state: "", text: "", since: "", until: "" }

/** Address of a page of the list. */
export const listUrl = (
  { application, frame }: ApplicationContext,
  typed: Typed = everything,
  after?: number
): string => {
  const query = write([
    ...Object.entries(typed).filter(([, value]) => value !== ""),
    ...(after === undefined ? [] : [["after", String(after)] as const])
  ])
  return `${pathOf(frame, application)}/deliveries${query === "" ? "" : `?${query}`}`
}

const Filter = ({ context, typed }: {
  readonly context: ApplicationContext
  readonly typed: Typed
}) => {
  const { developer } = messagesIn(context.frame.locale)
  const choices = ["", ...State.literals] as const
  return (
    <nav aria-label={developer.deliveries.filter}>
      <ul class="tabs">
        {choices.map((choice) => (
          <li key={choice}>
            <a
              href={listUrl(context, { ...typed, state: choice })}
              aria-current={choice === typed.state ? "page" : undefined}
            >
              {choice === "" ? developer.deliveries.all : developer.states[choice]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const SearchForm = ({ context: { application, frame }, typed }: {
  readonly context: ApplicationContext
  readonly typed: Typed
}) => {
  const { developer: { deliveries: words } } = messagesIn(frame.locale)
  return (
    <details class="step" open={typed.text + typed.since + typed.until !== ""}>
      <summary>{words.search}</summary>
      <form method="get" action={`${pathOf(frame, application)}/deliveries`}>
        {typed.state === "" ? null : <input type="hidden" name="state" value={typed.state} />}
        <Field name="text" label={words.text} hint={words.textHint} autocomplete="off" value={typed.text} />
        <Field name="since" label={words.since} hint={words.instantHint} autocomplete="off" value={typed.since} />
        <Field name="until" label={words.until} hint={words.instantHint} autocomplete="off" value={typed.until} />
        <button type="submit">{words.find}</button>
      </form>
    </details>
  )
}

const AllAgain = ({ context: { application, frame, signedIn }, failedSince }: {
  readonly context: ApplicationContext
  /** What was typed and is no instant. */
  readonly failedSince: string | undefined
}) => {
  const { developer: { deliveries: words } } = messagesIn(frame.locale)
  return (
    <details class="step" open={failedSince !== undefined}>
      <summary>{words.allAgain}</summary>
      <p>{words.allAgainMeans}</p>
      <Form action={`${pathOf(frame, application)}/redeliver`} csrf={signedIn.csrf}>
        <Field
          name="failed_since"
          label={words.failedSince}
          hint={words.instantHint}
          required
          autocomplete="off"
          value={failedSince ?? ""}
          problem={failedSince === undefined ? undefined : words.wrongInstant}
        />
        <button type="submit">{words.again}</button>
      </Form>
    </details>
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

export const DeliveriesView = (
  { context, deliveries, failedSince, hours, isFirst, isRepeatable, next, redelivered, typed }: {
    readonly context: ApplicationContext
    readonly deliveries: ReadonlyArray<Delivery>
    readonly hours: ReadonlyArray<AttemptHour>
    readonly typed: Typed
    readonly failedSince: string | undefined
    readonly isFirst: boolean
    /** Whether there is a subscription to which failed events could be delivered again. */
    readonly isRepeatable: boolean
    /** How many events are delivered again, after the form that asks for it. */
    readonly redelivered: Option.Option<number>
    /** Behind which delivery the next page begins, if there is one. */
    readonly next: Option.Option<number>
  }
) => {
  const { application, frame } = context
  const { developer: { chart, deliveries: words } } = messagesIn(frame.locale)
  return (
    <ApplicationLayout
      context={context}
      title={words.title(application.name)}
      isError={failedSince !== undefined}
    >
      {Option.match(redelivered, {
        onNone: () => null,
        onSome: (count) => (
          <Alert kind="good">
            <p>{words.redelivered(count)}</p>
          </Alert>
        )
      })}
      <section class="card">
        <h2>{chart.title}</h2>
        <AttemptChart hours={hours} locale={frame.locale} />
      </section>
      <section class="card">
        <Filter context={context} typed={typed} />
        <SearchForm context={context} typed={typed} />
        {isRepeatable ? <AllAgain context={context} failedSince={failedSince} /> : null}
        {deliveries.length === 0 ? <p class="muted">{words.none}</p> : (
          <Table
            label={words.title(application.name)}
            columns={[words.id, words.state, words.event, words.when, words.attempts, words.last]}
            rows={deliveries.map((delivery) => rowOf(delivery, context))}
          />
        )}
        <p class="row">
          {isFirst ? null : <a href={listUrl(context, typed)} rel="first">{words.newest}</a>}
          {Option.match(next, {
            onNone: () => null,
            onSome: (after) => <a href={listUrl(context, typed, after)} rel="next">{words.older}</a>
          })}
        </p>
      </section>
    </ApplicationLayout>
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

/** The body with line breaks for people. */
const pretty = (body: string): string => JSON.stringify(JSON.parse(body), null, 2)

/** A text as one word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const curl = ({ body, callbackUrl, headers }: Sent): string =>
  [
    `curl --request POST ${quoted(callbackUrl)}`,
    ...headers.map(([name, value]) => `--header ${quoted(`${name}: ${value}`)}`),
    `--data-raw ${quoted(body)}`
  ].join(" \\\n  ")

/** The request of a delivery, as it would be sent now. */
export interface Sent {
  readonly callbackUrl: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: string
}

const RequestSent = ({ locale, sent }: { readonly locale: Locale; readonly sent: Sent }) => {
  const { developer: { delivery: words } } = messagesIn(locale)
  return (
    <section class="card">
      <h2>{words.request}</h2>
      <Facts facts={sent.headers.map(([name, value]) => [name, <code>{value}</code>])} />
      <h3>{words.body}</h3>
      <pre><code>{pretty(sent.body)}</code></pre>
      <details class="step">
        <summary>{words.curl}</summary>
        <p class="muted">{words.curlMeans}</p>
        <Copyable id="curl" label={words.curl} value={curl(sent)} />
      </details>
    </section>
  )
}

export const DeliveryView = ({ context, delivery, sent }: {
  readonly context: ApplicationContext
  readonly delivery: Delivery
  /** None if its subscription has ended. */
  readonly sent: Option.Option<Sent>
}) => {
  const { application, frame, signedIn } = context
  const { locale } = frame
  const { developer: { deliveries, delivery: words } } = messagesIn(locale)
  const { attempts, dueAt, event, id, state, subscriptionId } = delivery
  const path = `${pathOf(frame, application)}/deliveries`
  return (
    <ApplicationLayout context={context} title={words.title(id)}>
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
        {Option.isSome(sent)
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
      {Option.match(sent, {
        onNone: () => (
          <section class="card">
            <h2>{words.body}</h2>
            <pre><code>{pretty(body(event, subscriptionId))}</code></pre>
          </section>
        ),
        onSome: (sent) => <RequestSent locale={locale} sent={sent} />
      })}
    </ApplicationLayout>
  )
}
