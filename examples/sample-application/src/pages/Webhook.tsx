/** The subscription, and the secret with which its events are checked. */
import type { Settings } from "../Settings.ts"
import type { State } from "../State.ts"
import { Action, Shortened } from "./Action.tsx"

const Secret = ({ settings, state }: { readonly settings: Settings; readonly state: State }) => (
  <>
    <p>
      {state.signingSecret === undefined
        ? "Every event is signed. The secret to check that with is shown to the application's owner alone, in "
        : (
          <>
            Events are checked with <Shortened secret={state.signingSecret} />. Another one? It is in{" "}
          </>
        )}
      <a
        href={`${settings.startlistUrl}/developer/applications/${settings.clientId}/signing-secret`}
        target="_blank"
        rel="noopener"
      >
        the developer pages of the platform
      </a>
      : sign in there as the platform user, and copy it from there.
    </p>
    <form method="post" action="/secret">
      <label>
        Signing secret
        <input name="secret" required pattern="\s*whsec_\S+\s*" placeholder="whsec_…" autocomplete="off" />
      </label>
      <button type="submit">Use this secret</button>
    </form>
  </>
)

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
      <Secret settings={settings} state={state} />
      {state.connections.has("platform") ? <Action to="/unsubscribe" label="Unsubscribe" /> : null}
    </>
  )
}
