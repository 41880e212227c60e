/** The events that the callback received, newest first. */
import type { Event } from "@startlist/client"
import type { Received, State } from "../State.ts"

const toText = (value: string | ReadonlyArray<string>): string => typeof value === "string" ? value : value.join("; ")

const headingOf = (event: Event): string => {
  switch (event.type) {
    case "registration.changed":
      return `registration ${event.registrationId} has changed`
    case "access.revoked":
      return `${event.role} ${event.userId} has revoked the access`
    case "unknown":
      return "an event that this version does not know"
  }
}

const What = ({ event }: { readonly event: Event }) => {
  const updates = event.type === "registration.changed"
    ? Object.entries(event.updates).filter(([, value]) => value.length > 0)
    : []
  return (
    <>
      <p>
        <strong>{headingOf(event)}</strong>
      </p>
      {updates.length === 0 ? null : (
        <dl>
          {updates.map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>{toText(value)}</dd>
            </>
          ))}
        </dl>
      )}
    </>
  )
}

const Item = ({ received: { at, event } }: { readonly received: Received }) => (
  <li class="good">
    <p>
      <time dateTime={at.toISOString()}>{at.toLocaleTimeString("en-GB")}</time> Signature verified.
    </p>
    <What event={event} />
    <p>
      <small>{event.id}</small>
    </p>
  </li>
)

export const Events = ({ state }: { readonly state: State }) =>
  state.received.length === 0 ? <p>None yet. They appear here by themselves.</p> : (
    <ol class="events">
      {state.received.map((received) => <Item key={received.event.id} received={received} />)}
    </ol>
  )
