/** Texts for the list of deliveries and the page of one delivery. */
import * as Option from "effect/Option"
import type { Attempt, State } from "@startlist/core/Delivery"
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

/** The outcome of an attempt, with the status if it is the reason. */
export const outcomeOf = ({ outcome, status }: Attempt, locale: Locale): string =>
  outcome === "rejected" && Option.isSome(status)
    ? `HTTP ${status.value}`
    : messagesIn(locale).developer.outcomes[outcome]
