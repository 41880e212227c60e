/** The subscription. */
import type { Settings } from "../Settings.ts"
import type { State } from "../State.ts"
import { Action, Shortened } from "./Action.tsx"

export const Webhook = ({ settings, state }: { readonly settings: Settings; readonly state: State }) => {
  const { subscription } = state
  if (subscription === undefined) {
    return (
      <>
        <p>
          The platform first calls <code>{settings.callbackUrl}</code>{" "}
          with a challenge, which has to come back within two seconds. From then on it sends events there.
        </p>
        {state.connections.has("platform")
          ? <Action to="/subscribe" label="Subscribe" />
          : <p>This needs the access token of step 2.</p>}
      </>
    )
  }
  return (
    <>
      <dl>
        <dt>Subscription</dt>
        <dd>{subscription.id}</dd>
        <dt>Callback</dt>
        <dd>
          <code>{subscription.callback_url}</code>
        </dd>
        <dt>Since</dt>
        <dd>
          <time dateTime={subscription.created_at}>{subscription.created_at}</time>
        </dd>
      </dl>
      <p>
        Every event is signed. Events are checked with{" "}
        <Shortened secret={settings.signingSecret} />: the application has this secret since it was registered, and its
        owner finds it in{" "}
        <a
          href={`${settings.startlistUrl}/developer/applications/${settings.clientId}/signing-secret`}
          target="_blank"
          rel="noopener"
        >
          the developer pages of the platform
        </a>
        .
      </p>
      {state.connections.has("platform") ? <Action to="/unsubscribe" label="Unsubscribe" /> : null}
    </>
  )
}
