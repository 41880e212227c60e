/** Texts for the list of deliveries and the page of one delivery. */
import * as Option from "effect/Option"
import type { Attempt, Delivery, State } from "@startlist/core/Delivery"
import type { Event } from "@startlist/core/Event"
import { type Locale, messagesIn } from "../Locale.ts"

/** The object of an event in words. */
export const about = ({ objectId, objectType, updates }: Event, locale: Locale): string => {
  const { developer } = messagesIn(locale)
  return "registration_status" in updates && updates.registration_status === "test" &&
      objectId > Number.MAX_SAFE_INTEGER / 2
    ? developer.testEvent
    : developer.about(objectType, objectId)
}

export const Badge = ({ locale, state }: { readonly locale: Locale; readonly state: State }) => (
  <span class={`badge ${state}`}>{messagesIn(locale).developer.states[state]}</span>
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
        <a href={`${path}/${repeat.id}`}>{messagesIn(locale).developer.deliveries.redelivery(repeat.id)}</a>{" "}
        <Badge state={repeat.state} locale={locale} />
      </>
    )}
  </>
)

/** The outcome of an attempt, with the status if it is the reason. */
export const outcomeOf = ({ outcome, status }: Attempt, locale: Locale): string =>
  outcome === "rejected" && Option.isSome(status)
    ? `HTTP ${status.value}`
    : messagesIn(locale).developer.outcomes[outcome]
