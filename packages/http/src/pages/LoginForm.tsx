/** How the login page looks. */
import { type Frame, Layout } from "./Layout.tsx"
import { messagesIn } from "./Locale.ts"

/** Why the form is shown again. */
export type Problem =
  | { readonly kind: "wrong" | "emailMissing" | "passwordMissing" | "stale" }
  | { readonly kind: "wait"; readonly seconds: number }

export const LoginForm = ({ csrf, email, frame, problem, returnTo }: {
  readonly frame: Frame
  readonly csrf: string
  readonly returnTo: string
  readonly email: string
  readonly problem: Problem | undefined
}) => {
  const { login } = messagesIn(frame.locale)
  return (
    <Layout frame={frame} title={login.title}>
      {problem === undefined
        ? null
        : (
          <p role="alert" id="problem">
            {problem.kind === "wait" ? login.wait(problem.seconds) : login[problem.kind]}
          </p>
        )}
      <form method="post" action="/login">
        <input type="hidden" name="csrf" value={csrf} />
        <input type="hidden" name="return_to" value={returnTo} />
        <p>
          <label for="email">{login.email}</label>
          <input
            id="email"
            name="email"
            type="email"
            autocomplete="username"
            required
            value={email}
            aria-describedby={problem === undefined ? undefined : "problem"}
          />
        </p>
        <p>
          <label for="password">{login.password}</label>
          <input
            id="password"
            name="password"
            type="password"
            autocomplete="current-password"
            required
            aria-describedby={problem === undefined ? undefined : "problem"}
          />
        </p>
        <p>
          <button type="submit">{login.submit}</button>
        </p>
      </form>
    </Layout>
  )
}
