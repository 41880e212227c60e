/** Views of the pages about passwords and sessions. */
import type { Session } from "../Accounts.ts"
import { Alert, ErrorSummary, Field, Form, Instant, Table } from "./Elements.tsx"
import type { Frame } from "./Page.ts"
import { Layout } from "./Layout.tsx"
import { type Locale, textsIn } from "./Locale.ts"

/** Why the password was not changed. */
export type Problem =
  | { readonly kind: "wrong" | "missing" | "unacceptable" }
  | { readonly kind: "wait"; readonly seconds: number }

const NewPassword = ({ locale, summary }: { readonly locale: Locale; readonly summary: string | undefined }) => {
  const { security } = textsIn(locale)
  return (
    <Field
      name="password"
      label={security.next}
      hint={security.rule}
      type="password"
      autocomplete="new-password"
      required
      summary={summary}
    />
  )
}

/** Password managers store a new password with it. */
const UserName = ({ email }: { readonly email: string }) => (
  <input type="text" name="username" autocomplete="username" value={email} readonly hidden />
)

const ChangePassword = ({ csrf, email, frame, problem }: {
  readonly csrf: string
  readonly email: string
  readonly frame: Frame
  readonly problem: Problem | undefined
}) => {
  const { login, security } = textsIn(frame.locale)
  const field = problem?.kind === "unacceptable" ? "password" : "present"
  const sentence = problem?.kind === "wait" ? login.wait(problem.seconds) : problem && security[problem.kind]
  return (
    <article>
      <h2>{security.password}</h2>
      {sentence === undefined ?
        null :
        <ErrorSummary id="problem" title={security.problem} problems={[[field, sentence]]} />}
      <Form action={`${frame.base}/account/security/password`} csrf={csrf}>
        <UserName email={email} />
        <Field
          name="present"
          label={security.present}
          type="password"
          autocomplete="current-password"
          required
          summary={sentence !== undefined && field === "present" ? "problem" : undefined}
        />
        <NewPassword
          locale={frame.locale}
          summary={sentence !== undefined && field === "password" ? "problem" : undefined}
        />
        <button type="submit">{security.change}</button>
      </Form>
    </article>
  )
}

const Sessions = ({ csrf, frame, own, sessions }: {
  readonly csrf: string
  readonly frame: Frame
  readonly own: string
  readonly sessions: ReadonlyArray<Session>
}) => {
  const { security } = textsIn(frame.locale)
  const action = `${frame.base}/account/security/sessions`
  return (
    <article>
      <h2>{security.sessions}</h2>
      <p class="muted">{security.sessionsExplained}</p>
      <Table
        label={security.sessions}
        columns={[security.session, security.network, security.started, security.used]}
        rows={sessions.map(({ id, origin: { device, network }, seenAt, startedAt }) => ({
          key: id,
          cells: [
            <>
              {device === "" ? security.unknownDevice : device} {id === own ?
                <span class="badge delivered">{security.thisSession}</span> :
                (
                  <Form action={action} csrf={csrf} hidden={[["session", id]]}>
                    <button type="submit" class="link">{security.end}</button>
                  </Form>
                )}
            </>,
            network === "" ? "–" : network,
            <Instant at={startedAt} locale={frame.locale} />,
            <Instant at={seenAt} locale={frame.locale} />
          ]
        }))}
      />
      {sessions.length < 2 ? null : (
        <Form action={action} csrf={csrf} hidden={[["session", "others"]]}>
          <button type="submit" class="outline">{security.endOthers}</button>
        </Form>
      )}
    </article>
  )
}

/** `own`: the identifier of the session that sees the page. */
export const SecurityView = ({ csrf, email, frame, own, problem, sessions }: {
  readonly csrf: string
  readonly email: string
  readonly frame: Frame
  readonly own: string
  readonly problem: Problem | undefined
  readonly sessions: ReadonlyArray<Session>
}) => {
  const { security } = textsIn(frame.locale)
  return (
    <Layout frame={frame} title={security.title} isError={problem !== undefined}>
      <ChangePassword csrf={csrf} email={email} frame={frame} problem={problem} />
      <Sessions csrf={csrf} frame={frame} own={own} sessions={sessions} />
    </Layout>
  )
}

/** The page of an operator's link. `refused`: the link is no longer valid. */
export const ResetView = ({ csrf, email, frame, state, token }: {
  readonly csrf: string
  readonly email: string
  readonly frame: Frame
  readonly state: "open" | "done" | "refused" | "unacceptable"
  readonly token: string
}) => {
  const { login, security } = textsIn(frame.locale)
  if (state === "done" || state === "refused") {
    return (
      <Layout frame={frame} title={security.reset} isError={state === "refused"} narrow unrepeatable>
        <Alert kind={state === "done" ? "good" : "bad"}>
          <p>{state === "done" ? security.resetDone : security.resetRefused}</p>
        </Alert>
        <p>
          <a class="button" href={`${frame.base}/login`}>{login.submit}</a>
        </p>
      </Layout>
    )
  }
  const isUnacceptable = state === "unacceptable"
  return (
    <Layout frame={frame} title={security.reset} isError={isUnacceptable} narrow>
      {isUnacceptable
        ? <ErrorSummary id="problem" title={security.problem} problems={[["password", security.unacceptable]]} />
        : null}
      <article>
        <p class="muted">{security.resetFor(email)}</p>
        <Form action={`${frame.base}/reset-password`} csrf={csrf} hidden={[["token", token]]}>
          <UserName email={email} />
          <NewPassword locale={frame.locale} summary={isUnacceptable ? "problem" : undefined} />
          <button type="submit">{security.change}</button>
        </Form>
      </article>
    </Layout>
  )
}
