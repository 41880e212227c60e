/** View of the page about the signing secret, which is hidden until the owner asks for it. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { SigningSecret } from "@startlist/core/ApplicationSecret"
import { Alert, Check, Copyable, Form } from "../Form.tsx"
import { messagesIn } from "../Locale.ts"
import { ApplicationLayout } from "./ApplicationLayout.tsx"
import { LiveSecrets, nextOf } from "./LiveSecrets.tsx"
import { type ApplicationContext, pathOf } from "./Owner.ts"

export const SigningView = (
  { isFull = false, isRotated = false, isShown = false, overlap, context, secrets }: {
    readonly context: ApplicationContext
    /** The live ones, newest first. */
    readonly secrets: ReadonlyArray<SigningSecret>
    /** Whether the owner asked for the values. */
    readonly isShown?: boolean
    readonly isRotated?: boolean
    /** Whether a further secret was refused. */
    readonly isFull?: boolean
    readonly overlap: Duration.Duration
  }
) => {
  const { application, frame, signedIn } = context
  const { dateTime, developer: { secret, signing } } = messagesIn(frame.locale)
  const action = `${pathOf(frame, application)}/signing-secret`
  return (
    <ApplicationLayout context={context} title={signing.title} isError={isFull} narrow>
      {isRotated
        ? (
          <Alert kind="good">
            <p>{signing.rotated}</p>
          </Alert>
        )
        : null}
      <article>
        <p>{signing.explanation}</p>
        {isShown
          ? secrets.map(({ expiresAt, number, value }) => (
            <Copyable
              key={number}
              id={`secret-${number}`}
              label={Option.match(expiresAt, {
                onNone: () => signing.label,
                onSome: (until) => signing.formerLabel(dateTime(until.epochMillis))
              })}
              value={Redacted.value(value)}
            />
          ))
          : (
            <Form action={action} csrf={signedIn.csrf}>
              <button type="submit" name="action" value="reveal">{signing.reveal}</button>
            </Form>
          )}
      </article>
      <article>
        <LiveSecrets action={action} context={context} isFull={isFull} secrets={secrets} />
      </article>
      <article>
        <details class="step">
          <summary>{signing.rotate}</summary>
          <p>{signing.rotateMeans(Duration.toHours(overlap))}</p>
          <Form action={action} csrf={signedIn.csrf} hidden={[["number", nextOf(secrets)]]}>
            <Check name="end_now" label={secret.leaked} />
            <button type="submit" class="danger" name="action" value="rotate">{signing.rotateNow}</button>
          </Form>
        </details>
      </article>
    </ApplicationLayout>
  )
}
