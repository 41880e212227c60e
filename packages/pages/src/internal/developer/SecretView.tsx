/** View of a new client secret. It is shown once, in the answer to the form that made it. */
import type * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Created, Registered } from "@startlist/core/Applications"
import { Alert, Copyable } from "../Form.tsx"
import { Layout } from "../Layout.tsx"
import { messagesIn } from "../Locale.ts"
import { Sentence } from "../Sentence.tsx"
import { Instant } from "../Time.tsx"
import { type OwnerContext, pathOf } from "./Owner.ts"

export const SecretView = ({ formerUntil, registered, context: { frame } }: {
  readonly context: OwnerContext
  /** A new application also has a signing secret. */
  readonly registered: Registered | Created
  /** The expiry of the previous secret, if it is still valid. */
  readonly formerUntil: Option.Option<DateTime.Utc>
}) => {
  const { application, secret } = registered
  const isNew = "signingSecret" in registered
  const { developer } = messagesIn(frame.locale)
  const { registering, secret: words } = developer
  const { name } = application
  return (
    <Layout frame={frame} title={isNew ? registering.done(name) : words.rotated(name)} narrow unrepeatable>
      <Alert kind="wait">
        <p>
          <strong>{words.once}</strong>
        </p>
      </Alert>
      <article>
        <Copyable id="client_id" label={developer.applications.clientId} value={String(application.id)} />
        <Copyable id="client_secret" label={words.label} value={Redacted.value(secret)} />
        <p class="muted">{words.keep}</p>
        {isNew
          ? (
            <>
              <Copyable
                id="signing_secret"
                label={developer.signing.label}
                value={Redacted.value(registered.signingSecret)}
              />
              <p class="muted">{developer.signing.explanation}</p>
            </>
          )
          : null}
        {isNew ? null : (
          <p>
            {Option.match(formerUntil, {
              onNone: () => words.formerEnded,
              onSome: (until) => (
                <Sentence say={words.formerUntil} about={<Instant at={until} locale={frame.locale} />} />
              )
            })}
          </p>
        )}
        <a class="button" href={pathOf(frame, application)}>{words.goOn(name)}</a>
      </article>
    </Layout>
  )
}
