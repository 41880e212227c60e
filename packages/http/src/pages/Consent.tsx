/** How the consent page looks: who asks, for whom, for what, for how long; and what to do about a wrong role. */
import type { AuthorizationRequest } from "@startlist/core/Authorization"
import type { Role } from "@startlist/core/User"
import type { Visitor } from "../Visitors.ts"
import { type Frame, Layout, SignOut } from "./Layout.tsx"
import { messagesIn } from "./Locale.ts"

/** The parameters of the request, to be sent once more with the decision and checked once more. */
export type Fields = ReadonlyArray<readonly [name: string, value: string]>

interface Props {
  readonly frame: Frame
  readonly request: AuthorizationRequest
  readonly visitor: Visitor
  readonly fields: Fields
}

/** The host to which the browser will return, with its port. */
const hostOf = (uri: string): string => /^https?:\/\/([^/?]+)/.exec(uri)?.[1] ?? uri

const HiddenFields = ({ fields, visitor }: Pick<Props, "fields" | "visitor">) => (
  <>
    {fields.map(([name, value]) => <input key={name} type="hidden" name={name} value={value} />)}
    <input type="hidden" name="csrf" value={visitor.csrf} />
  </>
)

export const Consent = ({ fields, frame, request, visitor }: Props) => {
  const { application: { name }, redirectUri, scope } = request
  const messages = messagesIn(frame.locale)
  const { consent } = messages
  return (
    <Layout frame={frame} title={consent.title(name)}>
      <p>{consent.asks(name, hostOf(redirectUri))}</p>
      <p>{consent.account(visitor.user.email, visitor.user.role)}</p>
      <SignOut frame={frame} csrf={visitor.csrf} label={consent.switchAccount} returnTo={frame.here} />
      <p>{consent.scopes}</p>
      <ul>
        {scope.map((one) => (
          <li key={one}>
            {messages.scope(one)} <code>{one}</code>
          </li>
        ))}
      </ul>
      <p>
        {consent.duration(name)} {consent.manage} <a href="/account/applications">{messages.layout.applications}</a>.
      </p>
      <form method="post" action="/oauth/authorize">
        <HiddenFields fields={fields} visitor={visitor} />
        <p>
          <button type="submit" name="decision" value="allow">{consent.allow}</button>{" "}
          <button type="submit" name="decision" value="deny">{consent.deny}</button>
        </p>
      </form>
    </Layout>
  )
}

export const RoleMismatch = ({ fields, frame, request, requested, visitor }: Props & { readonly requested: Role }) => {
  const { name } = request.application
  const { consent } = messagesIn(frame.locale)
  return (
    <Layout frame={frame} title={consent.roleTitle}>
      <p role="alert">{consent.roleMismatch(name, requested, visitor.user.role)}</p>
      <SignOut frame={frame} csrf={visitor.csrf} label={consent.switchAccount} returnTo={frame.here} />
      <form method="post" action="/oauth/authorize">
        <HiddenFields fields={fields} visitor={visitor} />
        <p>
          <button type="submit" name="decision" value="deny">{consent.backToApplication(name)}</button>
        </p>
      </form>
    </Layout>
  )
}
