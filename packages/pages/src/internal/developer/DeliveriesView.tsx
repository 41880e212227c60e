/** View of the list of an application's deliveries. */
import * as Option from "effect/Option"
import { type Delivery, type DeliveryId, State } from "@startlist/core/Delivery"
import { write } from "@startlist/http/Parameters"
import { Field, Form, Instant, type Row, Table } from "../Elements.tsx"
import { textsIn } from "../Locale.ts"
import { type ApplicationContext, ApplicationLayout, pathOf } from "./Owner.tsx"
import { About, Outcome, outcomeOf } from "./DeliveryView.tsx"

/** The search as it was typed. Empty fields match everything. */
export interface Typed {
  readonly state: string
  readonly text: string
  readonly since: string
  readonly until: string
}

/** An empty search. */
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

/** Number of deliveries in the states that need attention, at most `countLimit` of each. */
export type Counts = Readonly<Record<"pending" | "exhausted" | "set_aside", number>>

/** Deliveries are counted up to this number. */
export const countLimit = 100

const Filter = ({ context, counts, typed }: {
  readonly context: ApplicationContext
  readonly counts: Counts
  readonly typed: Typed
}) => {
  const { developer } = textsIn(context.frame.locale)
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
              {choice === "" ? developer.deliveries.all : developer.filters[choice]}
              {choice === "pending" || choice === "exhausted" || choice === "set_aside"
                ? ` (${developer.deliveries.countOf(counts[choice], countLimit)})`
                : null}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Date and time in UTC. Browsers fill it in; others take the same text. */
const InstantField = ({ value, ...field }: {
  readonly name: string
  readonly label: string
  readonly required?: boolean
  readonly value: string
  readonly problem?: string | undefined
}) => <Field {...field} type="datetime-local" value={value.trim().replace(" ", "T").replace("Z", "")} />

const SearchForm = ({ context: { application, frame }, typed }: {
  readonly context: ApplicationContext
  readonly typed: Typed
}) => {
  const { developer: { deliveries: words } } = textsIn(frame.locale)
  return (
    <details class="step" open={typed.text + typed.since + typed.until !== ""}>
      <summary>{words.search}</summary>
      <form method="get" action={`${pathOf(frame, application)}/deliveries`}>
        {typed.state === "" ? null : <input type="hidden" name="state" value={typed.state} />}
        <Field name="text" label={words.text} hint={words.textHint} value={typed.text} />
        <InstantField name="since" label={words.since} value={typed.since} />
        <InstantField name="until" label={words.until} value={typed.until} />
        <button type="submit">{words.find}</button>
      </form>
    </details>
  )
}

const AllAgain = ({ context: { application, frame, signedIn }, failedSince }: {
  readonly context: ApplicationContext
  /** The typed text if it is not an instant. */
  readonly failedSince: string | undefined
}) => {
  const { developer: { deliveries: words } } = textsIn(frame.locale)
  return (
    <details class="step" open={failedSince !== undefined}>
      <summary>{words.allAgain}</summary>
      <p>{words.allAgainMeans}</p>
      <Form action={`${pathOf(frame, application)}/redeliver`} csrf={signedIn.csrf}>
        <InstantField
          name="failed_since"
          label={words.failedSince}
          required
          value={failedSince ?? ""}
          problem={failedSince === undefined ? undefined : words.wrongInstant}
        />
        <button type="submit">{words.again}</button>
      </Form>
    </details>
  )
}

const rowOf = (
  delivery: Delivery,
  context: ApplicationContext,
  repeat: Delivery | undefined
): Row => {
  const { application, frame } = context
  const { attempts, event, id } = delivery
  const { locale } = frame
  const path = `${pathOf(frame, application)}/deliveries`
  const { developer } = textsIn(locale)
  const last = attempts.at(-1)
  return {
    key: id,
    cells: [
      <a href={`${path}/${id}`} aria-label={developer.deliveries.open(id)}>{id}</a>,
      <About event={event} context={context} />,
      <Instant at={event.time} locale={locale} />,
      <>
        <Outcome delivery={delivery} repeat={repeat} path={path} locale={locale} />
        {last === undefined || last.outcome === "delivered" && attempts.length === 1
          ? null
          : (
            <div class="muted">
              {last.outcome === "delivered"
                ? developer.chart.attempts(attempts.length)
                : `${outcomeOf(last, locale)}, ${developer.chart.attempts(attempts.length)}`}
            </div>
          )}
      </>
    ]
  }
}

/** View of the deliveries of an application. */
export const DeliveriesView = (
  { context, counts, deliveries, failedSince, isFirst, isRepeatable, next, repeats, typed }: {
    readonly context: ApplicationContext
    readonly counts: Counts
    readonly deliveries: ReadonlyArray<Delivery>
    readonly repeats: ReadonlyMap<DeliveryId, Delivery>
    readonly typed: Typed
    readonly failedSince: string | undefined
    readonly isFirst: boolean
    /** Whether there is a subscription for failed events to be delivered again. */
    readonly isRepeatable: boolean
    /** The delivery before the next page, if there is one. */
    readonly next: Option.Option<number>
  }
) => {
  const { application, frame } = context
  const { developer: { deliveries: words } } = textsIn(frame.locale)
  return (
    <ApplicationLayout context={context} section="deliveries" isError={failedSince !== undefined}>
      <section class="card">
        <Filter context={context} counts={counts} typed={typed} />
        <SearchForm context={context} typed={typed} />
        {isRepeatable ? <AllAgain context={context} failedSince={failedSince} /> : null}
        {deliveries.length === 0 ? <p class="muted">{words.none}</p> : (
          <Table
            label={words.title(application.name)}
            columns={[words.id, words.event, words.when, words.outcome]}
            rows={deliveries.map((delivery) => rowOf(delivery, context, repeats.get(delivery.id)))}
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
