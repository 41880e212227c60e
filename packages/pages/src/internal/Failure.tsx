/** View of error pages. */
import { Alert, Value } from "./Form.tsx"
import type { Frame } from "./Page.ts"
import { Layout } from "./Layout.tsx"
import { textsIn } from "./Locale.ts"
import type { ErrorKind } from "./Texts.ts"

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
