/** View of one delivery: its attempts, and its request as it would be sent now. */
import * as Option from "effect/Option"
import type { Attempt, Delivery, State } from "@startlist/core/Delivery"
import { body, type Event } from "@startlist/core/Event"
import { type Locale, textsIn } from "../Locale.ts"
import { Copyable, Facts, Form, Instant, Table, Value } from "../Elements.tsx"
import { Waiting } from "./SentDeliveries.ts"
import { type ApplicationContext, ApplicationLayout, pathOf } from "./Owner.tsx"

/** Whether an event is a test: no registration has its identifier. */
const isTest = ({ objectId, updates }: Event): boolean =>
  "registration_status" in updates && updates.registration_status === "test" && objectId > Number.MAX_SAFE_INTEGER / 2

/** The object of an event in words, with a link to all deliveries about it. */
export const About = ({ context: { application, frame }, event }: {
  readonly event: Event
  readonly context: ApplicationContext
}) => {
  const { developer } = textsIn(frame.locale)
  return isTest(event) ?
    <>{developer.testEvent}</> :
    (
      <a href={`${pathOf(frame, application)}/deliveries?text=${event.objectId}`}>
        {developer.about(event.objectType, event.objectId)}
      </a>
    )
}

/** The state of a delivery. */
export const Badge = ({ locale, state }: { readonly locale: Locale; readonly state: State }) => (
  <span class={`badge ${state}`}>{textsIn(locale).developer.states[state]}</span>
)

/** The state of a delivery, and of its repeat. `path` is that of the list. */
export const Outcome = ({ delivery: { state }, locale, path, repeat }: {
  readonly delivery: Delivery
  readonly repeat: Delivery | undefined
  readonly path: string
  readonly locale: Locale
}) => (
  <>
    <Badge state={state} locale={locale} />
    {repeat === undefined ? null : (
      <>
        {" "}
        <a href={`${path}/${repeat.id}`}>{textsIn(locale).developer.deliveries.redelivery(repeat.id)}</a>{" "}
        <Badge state={repeat.state} locale={locale} />
      </>
    )}
  </>
)

/** The outcome of an attempt, with the status if it is the reason. */
export const outcomeOf = ({ outcome, status }: Attempt, locale: Locale): string => {
  const words = textsIn(locale).developer.outcomes[outcome]
  return Option.match(status, { onNone: () => words, onSome: (code) => `${words} (HTTP ${code})` })
}

const Attempts = ({ attempts, locale }: Pick<Delivery, "attempts"> & { readonly locale: Locale }) => {
  const { developer: { delivery: words, milliseconds } } = textsIn(locale)
  return attempts.length === 0 ? <p class="muted">{words.noAttempts}</p> : (
    <Table
      label={words.attempts}
      columns={[words.attempt, words.at, words.outcome, words.duration, words.answer]}
      rows={attempts.map((attempt, index) => ({
        key: index,
        cells: [
          index + 1,
          <Instant at={attempt.at} locale={locale} />,
          outcomeOf(attempt, locale),
          milliseconds(attempt.durationMs),
          attempt.detail === "" ? "–" : <code>{attempt.detail}</code>
        ]
      }))}
    />
  )
}

/** The body with line breaks. */
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
  const { developer: { delivery: words } } = textsIn(locale)
  return (
    <section class="card">
      <h2>{words.request}</h2>
      <p class="muted">{words.requestMeans}</p>
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

/** Why the delivery waits, and a link to load the page again. */
const Wait = ({ locale, path, waiting }: {
  readonly locale: Locale
  /** That of the list. */
  readonly path: string
  readonly waiting: Waiting
}) => {
  const { developer: { deliveries, delivery: words } } = textsIn(locale)
  return Waiting.$match(waiting, {
    Suspended: () => <>{words.waitsFor.suspended}</>,
    Paused: ({ byOperator }) => <>{byOperator ? words.waitsFor.pausedByOperator : words.waitsFor.paused}</>,
    Earlier: ({ id }) => (
      <>
        {words.waitsForEarlier} <a href={`${path}/${id}`}>{deliveries.open(id)}</a>
      </>
    ),
    NextAttempt: ({ at, failed }) => (
      <>
        {words.waitsForAttempt(failed)} <Instant at={at} locale={locale} />
      </>
    ),
    Due: () => <>{words.waitsFor.due}</>
  })
}

/** View of a delivery. */
export const DeliveryView = ({ context, delivery, repeat, sent, waiting }: {
  readonly context: ApplicationContext
  readonly delivery: Delivery
  readonly repeat: Delivery | undefined
  /** None if its subscription has ended. */
  readonly sent: Option.Option<Sent>
  /** The reason, if it is pending. */
  readonly waiting: Option.Option<Waiting>
}) => {
  const { application, frame, signedIn } = context
  const { locale } = frame
  const { developer: { deliveries, delivery: words } } = textsIn(locale)
  const { attempts, event, id, state, subscriptionId } = delivery
  const path = `${pathOf(frame, application)}/deliveries`
  return (
    <ApplicationLayout context={context} title={words.title(id, isTest(event))} parent="deliveries">
      <section class="card">
        <Facts
          facts={[
            [deliveries.state, <Outcome delivery={delivery} repeat={repeat} path={path} locale={locale} />],
            [words.event, <About event={event} context={context} />],
            [words.occurred, <Instant at={event.time} locale={locale} />],
            [words.webhookId, <Value name={words.webhookId}>{event.id}</Value>],
            ...Option.match(waiting, {
              onNone: () => [],
              onSome: (waiting) => [
                [
                  words.waits,
                  <>
                    <Wait waiting={waiting} path={path} locale={locale} /> <a href={`${path}/${id}`}>{words.reload}</a>
                  </>
                ] as const
              ]
            })
          ]}
        />
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
