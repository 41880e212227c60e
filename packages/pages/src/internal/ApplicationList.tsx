/** View of the list of authorised applications. */
import type * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Access from "@startlist/core/Access"
import type { Authorized } from "@startlist/core/OAuth"
import type { Fields } from "@startlist/http/Authorization"
import { Form } from "./Form.tsx"
import type { Frame } from "./Page.ts"
import { Layout } from "./Layout.tsx"
import { textsIn } from "./Locale.ts"
import { Day, Facts, Instant, Scopes } from "./Elements.tsx"

/** One application. A revocation takes two steps: open its explanation, then press the button. */
const One = ({ authorized: { application, grant }, csrf, fieldsOf, frame: { base, locale }, now }:
  & { readonly authorized: Authorized }
  & Omit<ApplicationsPage, "authorized">) =>
{
  const { applications, roles } = textsIn(locale)
  const { id, name } = application
  const former = Access.liveScope(grant, now).filter((scope) => !grant.scope.includes(scope))
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
  /** The time of the page, for `Access.liveScope`. */
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
