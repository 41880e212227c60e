/** View of the sign-in page. */
import * as Option from "effect/Option"
import type { Fields } from "@startlist/http/Authorization"
import { ErrorSummary, Field, Form } from "./Form.tsx"
import type { Frame } from "./Frame.ts"
import { Layout } from "./Layout.tsx"
import { messagesIn } from "./Locale.ts"
import type { Messages } from "./Messages.ts"

/** Why the form is shown again. */
export type Problem =
  | { readonly kind: "wrong" | "emailMissing" | "passwordMissing" | "stale" }
  | { readonly kind: "wait"; readonly seconds: number }

const sentenceOf = (login: Messages["login"], problem: Problem): string =>
  problem.kind === "wait" ? login.wait(problem.seconds) : login[problem.kind]

/** The field of a problem, if it concerns one field. */
const fields: Readonly<Record<Problem["kind"], string | undefined>> = {
  wrong: "email",
  emailMissing: "email",
  passwordMissing: "password",
  stale: undefined,
  wait: undefined
}

export const LoginForm = ({ application, csrf, email, frame, hidden, problem }: {
  readonly frame: Frame
  readonly csrf: string
  /** Hidden fields: `return_to`, and `prompt` if the user must sign in again. */
  readonly hidden: Fields
  readonly email: string
  /** The name of the application whose consent page follows. */
  readonly application: Option.Option<string>
  readonly problem: Problem | undefined
}) => {
  const { login } = messagesIn(frame.locale)
  const summaryOf = (name: string) =>
    problem !== undefined && (problem.kind === "wrong" || fields[problem.kind] === name) ? "problem" : undefined
  return (
    <Layout frame={frame} title={login.title} isError={problem !== undefined} narrow>
      {problem === undefined ? null : (
        <ErrorSummary
          id="problem"
          title={login.problem}
          problems={[[fields[problem.kind], sentenceOf(login, problem)]]}
        />
      )}
      {Option.match(application, {
        onNone: () => null,
        onSome: (name) => <p class="lead">{login.onTheWay(name)}</p>
      })}
      <article>
        <p class="muted">{login.explanation}</p>
        <Form action={`${frame.base}/login`} csrf={csrf} hidden={hidden}>
          <Field
            name="email"
            label={login.email}
            type="email"
            autocomplete="username"
            required
            value={email}
            summary={summaryOf("email")}
          />
          <Field
            name="password"
            label={login.password}
            type="password"
            autocomplete="current-password"
            required
            summary={summaryOf("password")}
          />
          <button type="submit">{login.submit}</button>
        </Form>
      </article>
    </Layout>
  )
}
