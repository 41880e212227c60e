/** View of the page about the signing secret, which is hidden until the owner asks for it. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { SigningSecret, SigningSecrets } from "@startlist/core/Application"
import { Alert, Copyable, Form } from "../Form.tsx"
import { messagesIn } from "../Locale.ts"
import { ApplicationLayout } from "./ApplicationLayout.tsx"
import { type ApplicationContext, pathOf } from "./Owner.ts"

export const SigningView = ({ isRotated = false, overlap, context, present, shown }: {
  readonly context: ApplicationContext
  readonly present: SigningSecrets
  /** The secrets to show. Empty unless the owner asked for them. */
  readonly shown: ReadonlyArray<SigningSecret>
  readonly isRotated?: boolean
  readonly overlap: Duration.Duration
}) => {
  const { application, frame, signedIn } = context
  const { dateTime, developer: { signing } } = messagesIn(frame.locale)
  const action = `${pathOf(frame, application)}/signing-secret`
  return (
    <ApplicationLayout context={context} title={signing.title} narrow>
      {isRotated
        ? (
          <Alert kind="good">
            <p>{signing.rotated}</p>
          </Alert>
        )
        : null}
      <article>
        <p>{signing.explanation}</p>
        {shown.length === 0
          ? (
            <Form action={action} csrf={signedIn.csrf}>
              <button type="submit" name="action" value="reveal">{signing.reveal}</button>
            </Form>
          )
          : shown.map(({ expiresAt, value }, index) => (
            <Copyable
              key={index}
              id={`secret-${index}`}
              label={Option.match(expiresAt, {
                onNone: () => signing.label,
                onSome: (until) => signing.formerLabel(dateTime(until.epochMillis))
              })}
              value={Redacted.value(value)}
            />
          ))}
      </article>
      <article>
        <details class="step">
          <summary>{signing.rotate}</summary>
          <p>{signing.rotateMeans(Duration.toHours(overlap))}</p>
          <Form action={action} csrf={signedIn.csrf} hidden={[["version", String(present.version)]]}>
            <button type="submit" class="danger" name="action" value="rotate">{signing.rotateNow}</button>
          </Form>
        </details>
      </article>
    </ApplicationLayout>
  )
}
