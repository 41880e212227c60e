/** What was sent to the callback, newest first. */
import type { Event, Received, State } from "../State.ts"

const toText = (value: string | ReadonlyArray<string>): string => typeof value === "string" ? value : value.join("; ")

const What = ({ event }: { readonly event: Event }) => {
  const updates = Object.entries(event.updates).filter(([, value]) => value.length > 0)
  return (
    <>
      <p>
        <strong>{`${event.object_type} ${event.object_id} ${event.aspect_type}`}</strong>
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

const Item = ({ received }: { readonly received: Received }) => (
  <li class={received.status === 200 ? "good" : "bad"}>
    <p>
      <time dateTime={received.at.toISOString()}>{received.at.toLocaleTimeString("en-GB")}</time> {received.verdict}
      {" "}
      Answered with {received.status}.
    </p>
    {received.event === undefined ? null : <What event={received.event} />}
    <p>
      <small>{received.webhookId}</small>
    </p>
  </li>
)

export const Events = ({ state }: { readonly state: State }) =>
  state.received.length === 0 ? <p>None yet. They appear here by themselves.</p> : (
    <ol class="events">
      {state.received.map((received) => <Item key={received.at.getTime()} received={received} />)}
    </ol>
  )
