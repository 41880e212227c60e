/** Startlist's own templates of the pages that a server can replace: consent, authorised applications, failures. */
import type * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import type { AuthorizationRequest } from "@startlist/core/Authorization"
import type { Role } from "@startlist/core/User"
import { type Authorized, liveScope } from "@startlist/core/Grant"
import type { Fields } from "@startlist/http/Authorization"
import type { SignedIn } from "../Authentication.ts"
import { Alert, Day, Facts, Form, Instant, Scopes, Value } from "./Elements.tsx"
import type { Frame } from "./Page.ts"
import { Layout, SignOut } from "./Layout.tsx"
import { textsIn } from "./Locale.ts"
import type { ErrorKind } from "./English.ts"

/** Content of the consent page. */
export interface ConsentPage {
  readonly frame: Frame
  readonly request: AuthorizationRequest
  readonly signedIn: SignedIn
  /** Address for the decision: `decision` is `allow` or `deny`. Has the parameters that `fields` lacks. */
  readonly action: string
  /** The parameters of the request. The decision sends them again, and they are checked again. */
  readonly fields: Fields
  /** Whether the application already has access to this user's account. */
  readonly isAllowedBefore: boolean
}

/** Content of the page about a wrong role: the application asks for a user with another role. */
export interface WrongRolePage extends ConsentPage {
  readonly requested: Role
}

/** The host and port to which the browser will return. */
const hostOf = (uri: string): string => /^https?:\/\/([^/?]+)/.exec(uri)?.[1] ?? uri

/** The signed-in account, and a form to use another one. */
const Account = ({ frame, signedIn }: Pick<ConsentPage, "frame" | "signedIn">) => {
  const { colon, consent, roles } = textsIn(frame.locale)
  const { email, firstName, lastName, role } = signedIn.user
  const name = `${firstName} ${lastName}`.trim()
  return (
    <div class="row">
      <p>
        <span class="muted">{consent.account}{colon}</span>
        {name === "" ? email : `${name} (${email})`}, {roles[role]}
      </p>
      <SignOut frame={frame} csrf={signedIn.csrf} label={consent.switchAccount} returnTo={frame.here} />
    </div>
  )
}

/** A link from the application's owner. It opens in another tab, so that the consent page stays. */
const Elsewhere = ({ label, url }: { readonly url: string; readonly label: string }) => (
  <a href={url} target="_blank" rel="noopener noreferrer nofollow">{label}</a>
)

/** Image sources of the page, with the application's logo if it has one. */
export const imagesOf = (logo: string | undefined): Readonly<Record<string, string>> =>
  logo === undefined || !URL.canParse(logo) ? {} : { "img-src": `'self' ${new URL(logo).origin}` }

/** The logo and the links of the application, if it has any. The name is in the heading. */
const Party = ({ frame, request }: Pick<ConsentPage, "frame" | "request">) => {
  const { consent } = textsIn(frame.locale)
  const { logo, privacyPolicy, website } = request.application.links ?? {}
  return (logo ?? privacyPolicy ?? website) === undefined ? null : (
    <p class="row">
      {logo === undefined ? null : <img class="logo" src={logo} alt="" referrerpolicy="no-referrer" />}
      {website === undefined ? null : <Elsewhere url={website} label={website.replace(/^https:\/\/|\/$/g, "")} />}
      {privacyPolicy === undefined ? null : <Elsewhere url={privacyPolicy} label={consent.privacyPolicy} />}
    </p>
  )
}

/** The account that is asked about, and where the browser goes next. */
const Parties = ({ frame, request, signedIn }: Pick<ConsentPage, "frame" | "request" | "signedIn">) => {
  const { colon, consent } = textsIn(frame.locale)
  return (
    <>
      <Account frame={frame} signedIn={signedIn} />
      <p class="muted">
        {consent.returns}
        {colon}
        <code>{hostOf(request.redirectUri)}</code>
      </p>
    </>
  )
}

/** View of the consent page. Both answers are visible on a phone without scrolling: keep it short. */
export const Consent = ({ action, fields, frame, isAllowedBefore, request, signedIn }: ConsentPage) => {
  const { application: { name }, scope } = request
  const { consent, layout } = textsIn(frame.locale)
  return (
    <Layout frame={frame} title={consent.title(name, frame.brand.name)} narrow header="account">
      <div class="card consent">
        <Party frame={frame} request={request} />
        <h2>{consent.scopes(name)}</h2>
        <Scopes locale={frame.locale} scope={scope} />
        <p class="muted">
          {isAllowedBefore ? `${consent.before(name)} ` : null}
          {consent.untilRevoked(name)}
          {frame.has("/account/applications")
            ? (
              <>
                {" "}
                {consent.revokedIn} <a href={`${frame.base}/account/applications`}>{layout.applications}</a>
              </>
            )
            : null}
          .
        </p>
        <Parties frame={frame} request={request} signedIn={signedIn} />
        <Form action={action} csrf={signedIn.csrf} hidden={fields}>
          <div class="choices">
            <button type="submit" name="decision" value="deny" class="outline">{consent.deny}</button>
            <button type="submit" name="decision" value="allow">{consent.allow}</button>
          </div>
        </Form>
      </div>
    </Layout>
  )
}

/** View of the page that asks for an account with another role. */
export const WrongRole = ({ action, fields, frame, request, requested, signedIn }: WrongRolePage) => {
  const { name } = request.application
  const { consent } = textsIn(frame.locale)
  return (
    <Layout frame={frame} title={consent.roleTitle} narrow header="account">
      <Alert kind="wait">
        <p>{consent.roleMismatch(name, requested, signedIn.user.role)}</p>
      </Alert>
      <div class="card consent">
        <Party frame={frame} request={request} />
        <p>{consent.roleThen(requested)}</p>
        <Parties frame={frame} request={request} signedIn={signedIn} />
        <Form action={action} csrf={signedIn.csrf} hidden={fields}>
          <button type="submit" name="decision" value="deny" class="outline">{consent.backToApplication(name)}</button>
        </Form>
      </div>
    </Layout>
  )
}

/** One application. A revocation takes two steps: open its explanation, then press the button. */
const One = ({ authorized: { application, grant }, csrf, fieldsOf, frame: { base, locale }, now }:
  & { readonly authorized: Authorized }
  & Omit<ApplicationsPage, "authorized">) =>
{
  const { applications, roles } = textsIn(locale)
  const { id, name } = application
  const former = liveScope(grant, now).filter((scope) => !grant.scope.includes(scope))
  return (
    <article>
      <h2>{name}</h2>
      <Facts
        facts={[
          [applications.access, <Scopes locale={locale} scope={grant.scope} />],
          ...(former.length === 0 ? [] : [[applications.still, <Scopes locale={locale} scope={former} />] as const]),
          [applications.role, roles[grant.role]],
          [applications.since, <Day at={grant.grantedAt} locale={locale} />],
          [
            applications.used,
            Option.match(grant.refresh, {
              onNone: () => applications.unused,
              onSome: ({ issuedAt }) => <Instant at={issuedAt} locale={locale} />
            })
          ]
        ]}
      />
      <details class="step">
        <summary>{applications.revoke}</summary>
        <p>{applications.revokeMeans(name)} {applications.revokeAgain(name)}</p>
        <Form action={`${base}/account/applications/${id}/revoke`} csrf={csrf} hidden={fieldsOf(application)}>
          <button type="submit" class="danger">{applications.revokeNamed(name)}</button>
        </Form>
      </details>
    </article>
  )
}

/** The authorised applications of a user. */
export interface ApplicationsPage {
  readonly frame: Frame
  readonly authorized: ReadonlyArray<Authorized>
  readonly csrf: string
  /** Hidden fields of the form of an application: with them, the next page names it. */
  readonly fieldsOf: (application: Authorized["application"]) => Fields
  /** The time of the page, for `liveScope`. */
  readonly now: DateTime.Utc
}

/** View of the authorised applications. */
export const ApplicationList = ({ authorized, csrf, fieldsOf, frame, now }: ApplicationsPage) => {
  const { applications } = textsIn(frame.locale)
  return (
    <Layout frame={frame} title={applications.title}>
      {authorized.length === 0 ?
        (
          <article>
            <p>
              <strong>{applications.none}</strong>
            </p>
            <p class="muted">{applications.noneThen}</p>
          </article>
        ) :
        (
          <>
            <p class="lead">{applications.explanation}</p>
            {authorized.map((one) => (
              <One key={one.application.id} authorized={one} csrf={csrf} fieldsOf={fieldsOf} frame={frame} now={now} />
            ))}
          </>
        )}
    </Layout>
  )
}

/** Content of an error page. Title, explanation and advice are `messages.error[kind]` in the language of the user. */
export interface FailurePage {
  readonly frame: Frame
  /** Status of the response. */
  readonly status: number
  readonly kind: ErrorKind
  /** Address at which the user can start again, if there is one. */
  readonly again: string | undefined
  /** The name of the request in the log, if it has one. */
  readonly requestId: string | undefined
}

const home = "/account/applications"

/** View of an error page. */
export const Failure = ({ again, frame, kind, requestId, status }: FailurePage) => {
  const { error, login } = textsIn(frame.locale)
  const { advice, title, what } = error[kind]
  return (
    <Layout frame={frame} title={title} isError narrow>
      <Alert kind="bad">
        <p>{what}</p>
      </Alert>
      <p>{advice}</p>
      <p class="row">
        {again === undefined ?
          null :
          (
            <a class="button" href={again}>
              {kind === "signedOut"
                ? login.submit
                : kind === "notFound"
                ? error.goTo(again.split("?", 1).join())
                : error.again}
            </a>
          )}
        {frame.has(home) ? <a href={frame.base + home}>{error.home}</a> : null}
      </p>
      <p class="status">{error.status(status)}</p>
      {requestId === undefined ? null : (
        <p class="status">
          {error.request} <Value name={error.request}>{requestId}</Value>
        </p>
      )}
    </Layout>
  )
}
