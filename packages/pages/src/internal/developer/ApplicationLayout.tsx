/** The frame of every page about one application: the link back to it, and warnings for its owner. */
import type { ComponentChildren } from "preact"
import { Alert } from "../Form.tsx"
import { Layout } from "../Layout.tsx"
import { textsIn } from "../Locale.ts"
import { type ApplicationContext, pathOf } from "./Owner.ts"

/** The frame with the name of the application. */
export const ApplicationLayout = ({ back = true, children, context, isError = false, narrow = false, title }: {
  readonly context: ApplicationContext
  readonly title: string
  readonly isError?: boolean
  readonly narrow?: boolean
  /** Whether the page links to the application's page. */
  readonly back?: boolean
  readonly children: ComponentChildren
}) => {
  const { application, frame, isFailing } = context
  const { developer: { ending, webhook } } = textsIn(frame.locale)
  const path = pathOf(frame, application)
  return (
    <Layout frame={frame} title={title} isError={isError} narrow={narrow}>
      {application.state === "suspended"
        ? (
          <Alert kind="bad">
            <p>{ending.suspended}</p>
          </Alert>
        )
        : null}
      {isFailing
        ? (
          <Alert kind="bad">
            <p>
              {webhook.failing} <a href={`${path}/deliveries?state=exhausted`}>{webhook.failed}</a>
            </p>
          </Alert>
        )
        : null}
      {back
        ? (
          <p>
            <a href={path}>{application.name}</a>
          </p>
        )
        : null}
      {children}
    </Layout>
  )
}
