/** The users who granted access, and the actions with it. */
import type { Settings } from "../Settings.ts"
import type { Connection, State } from "../State.ts"
import { Action, Shortened } from "./Action.tsx"

interface Props {
  readonly settings: Settings
  readonly state: State
}

const Tokens = ({ connection }: { readonly connection: Connection }) => (
  <dl>
    <dt>Access token</dt>
    <dd>
      <Shortened secret={connection.accessToken} />, until{" "}
      <time dateTime={new Date(connection.expiresAt).toISOString()}>
        {new Date(connection.expiresAt).toLocaleTimeString("en-GB", { timeStyle: "short" })}
      </time>
    </dd>
    <dt>Refresh token</dt>
    <dd>
      <Shortened secret={connection.refreshToken} />
      {connection.refreshed === 0
        ? null
        : `, replaced ${connection.refreshed === 1 ? "once" : `${connection.refreshed} times`}`}
    </dd>
    <dt>Scope</dt>
    <dd>
      <code>{connection.scope}</code>
    </dd>
  </dl>
)

const Farewell = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : <p class="notice good">{text}</p>

export const Athlete = ({ settings, state }: Props) => {
  const connection = state.connections.get("athlete")
  if (connection === undefined) {
    return (
      <>
        <Farewell text={state.farewells.get("athlete")} />
        <p>
          The platform asks the athlete whether Race Planner may use the account, and sends the browser back with a
          code, which this server exchanges for tokens.
        </p>
        <Action to="/connect" label="Connect as athlete" fields={{ role: "athlete" }} />
      </>
    )
  }
  const { person } = connection
  return (
    <>
      <p>
        Connected with{" "}
        <strong>{person === undefined ? "an athlete" : `${person.first_name} ${person.last_name}`}</strong>
        {person === undefined ? "" : `, athlete ${person.id}`}.
      </p>
      <Tokens connection={connection} />
      <div class="actions">
        <Action to="/athlete" label="Call GET /api/v1/athlete" />
        <Action to="/refresh" label="Refresh the tokens" fields={{ role: "athlete" }} />
        <Action to="/revoke" label="Revoke, as the application" fields={{ role: "athlete" }} />
      </div>
      <p>
        The athlete can take the access back at any time, in{" "}
        <a href={`${settings.startlistUrl}/account/applications`} target="_blank" rel="noopener">
          the account pages of the platform
        </a>
        . Try that last: with a subscription, Race Planner is notified immediately.
      </p>
    </>
  )
}

export const Platform = ({ state }: Props) => {
  const connection = state.connections.get("platform")
  if (connection === undefined) {
    return (
      <>
        <Farewell text={state.farewells.get("platform")} />
        <p>
          Events are for registration platforms: only with the access token of a platform user can an application
          subscribe. Race Planner asks for it as for any other, with <code>role=platform</code>.
        </p>
        <Action to="/connect" label="Connect as platform user" fields={{ role: "platform" }} />
      </>
    )
  }
  return (
    <>
      <p>Connected with a platform user.</p>
      <Tokens connection={connection} />
      <div class="actions">
        <Action to="/refresh" label="Refresh the tokens" fields={{ role: "platform" }} />
        <Action to="/revoke" label="Revoke, as the application" fields={{ role: "platform" }} />
      </div>
    </>
  )
}
