/** How the list of authorised applications looks. */
import * as DateTime from "effect/DateTime"
import type { Authorized } from "@startlist/core/OAuth"
import { type Frame, Layout } from "./Layout.tsx"
import * as Locale from "./Locale.ts"

const Row = ({ authorized: { application, grant }, csrf, frame }: {
  readonly authorized: Authorized
  readonly csrf: string
  readonly frame: Frame
}) => {
  const messages = Locale.messagesIn(frame.locale)
  return (
    <tr>
      <th scope="row">{application.name}</th>
      <td>
        <ul>{grant.scope.map((name) => <li key={name}>{messages.scope(name)}</li>)}</ul>
      </td>
      <td>
        <time datetime={DateTime.formatIso(grant.grantedAt)}>
          {messages.applications.date(grant.grantedAt.epochMillis)}
        </time>
      </td>
      <td>
        <form method="post" action={`/account/applications/${application.id}/revoke`}>
          <input type="hidden" name="csrf" value={csrf} />
          <button type="submit" aria-label={messages.applications.revokeNamed(application.name)}>
            {messages.applications.revoke}
          </button>
        </form>
      </td>
    </tr>
  )
}

export const ApplicationList = ({ authorized, csrf, frame }: {
  readonly authorized: ReadonlyArray<Authorized>
  readonly csrf: string
  readonly frame: Frame
}) => {
  const { applications } = Locale.messagesIn(frame.locale)
  if (authorized.length === 0) {
    return (
      <Layout frame={frame} title={applications.title}>
        <p>{applications.none}</p>
      </Layout>
    )
  }
  return (
    <Layout frame={frame} title={applications.title}>
      <p>{applications.explanation}</p>
      <table>
        <thead>
          <tr>
            <th scope="col">{applications.application}</th>
            <th scope="col">{applications.access}</th>
            <th scope="col">{applications.since}</th>
            <th scope="col">{applications.action}</th>
          </tr>
        </thead>
        <tbody>
          {authorized.map((one) => <Row key={one.application.id} authorized={one} csrf={csrf} frame={frame} />)}
        </tbody>
      </table>
    </Layout>
  )
}
