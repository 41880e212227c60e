/** Views of secrets: a new client secret, the live ones of a kind, and the signing secrets. */
import * as Option from "effect/Option"
import type * as DateTime from "effect/DateTime"
import * as Redacted from "effect/Redacted"
import * as Duration from "effect/Duration"
import type { Lifetime, SigningSecret } from "@startlist/core/ApplicationSecret"
import { Alert, Check, Copyable, Form, Instant, Sentence, Table } from "../Elements.tsx"
import { textsIn } from "../Locale.ts"
import { type ApplicationContext, ApplicationLayout, type OwnerContext, pathOf } from "./Owner.tsx"
import type { Created, Registered } from "@startlist/core/Applications"
import { Layout } from "../Layout.tsx"

/** The number of the next secret. A form carries it, so that it replaces only the secrets that its sender has seen. */
export const nextOf = ([newest]: ReadonlyArray<Lifetime>): string => String((newest?.number ?? 0) + 1)

/** View of the live secrets of one kind: number and end of each, and a form that ends a replaced one before its time. */
export const LiveSecrets = ({ action, context: { frame, signedIn }, isFull, secrets }: {
  readonly context: ApplicationContext
  /** The address of the forms: it replaces a secret, and `/end` after it ends one. */
  readonly action: string
  readonly secrets: ReadonlyArray<Lifetime>
  /** Whether a replacement was refused because there are as many as can be. */
  readonly isFull: boolean
}) => {
  const { developer: { secrets: words } } = textsIn(frame.locale)
  return (
    <>
      {isFull
        ? (
          <Alert kind="bad">
            <p>{words.full(secrets.length)}</p>
          </Alert>
        )
        : null}
      <Table
        label={words.title}
        columns={[words.number, words.ends, words.action]}
        rows={secrets.map(({ expiresAt, number }) => ({
          key: number,
          cells: [
            number,
            ...Option.match(expiresAt, {
              onNone: () => [words.never, words.current],
              onSome: (until) => [
                <Instant at={until} locale={frame.locale} />,
                <Form action={`${action}/end`} csrf={signedIn.csrf} hidden={[["number", String(number)]]}>
                  <button type="submit" class="outline">{words.end(number)}</button>
                </Form>
              ]
            })
          ]
        }))}
      />
    </>
  )
}

/** View of the client secrets, and the way to the signing secret. */
export const SecretsView = ({ formKey, isFull = false, overlap, secrets, context }: {
  readonly context: ApplicationContext
  /** The key of the form that replaces the secret. */
  readonly formKey: string
  /** The live ones, newest first. */
  readonly secrets: ReadonlyArray<Lifetime>
  /** Whether a further secret was refused. */
  readonly isFull?: boolean
  /** The time for which the current secret would stay valid beside a new one. */
  readonly overlap: Duration.Duration
}) => {
  const { application, frame, signedIn } = context
  const { developer: { secret, signing } } = textsIn(frame.locale)
  const action = `${pathOf(frame, application)}/secret`
  return (
    <ApplicationLayout context={context} section="secrets" isError={isFull}>
      <section class="card">
        <h2>{secret.title}</h2>
        <p>{secret.hidden}</p>
        <LiveSecrets action={action} context={context} isFull={isFull} secrets={secrets} />
        <details class="step">
          <summary>{secret.rotate}</summary>
          <p>{secret.rotateMeans(Duration.toHours(overlap))}</p>
          <Form action={action} csrf={signedIn.csrf} hidden={[["number", nextOf(secrets)], ["key", formKey]]}>
            <Check name="end_now" label={secret.leaked} />
            <button type="submit" class="danger">{secret.rotateNow}</button>
          </Form>
        </details>
      </section>
      <section class="card">
        <h2>{signing.title}</h2>
        <p>{signing.explanation}</p>
        <p>
          <a href={`${pathOf(frame, application)}/signing-secret`}>{signing.open}</a>
        </p>
      </section>
    </ApplicationLayout>
  )
}

/** View of a new client secret. It is shown once, in the answer to the form that made it. */
export const SecretView = ({ formerUntil, registered, context: { frame } }: {
  readonly context: OwnerContext
  /** A new application also has a signing secret. */
  readonly registered: Registered | Created
  /** The expiry of the previous secret, if it is still valid. */
  readonly formerUntil: Option.Option<DateTime.Utc>
}) => {
  const { application, secret } = registered
  const isNew = "signingSecret" in registered
  const { developer } = textsIn(frame.locale)
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

/** View of the page about the signing secret, which is hidden until the owner asks for it. */
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
  const { dateTime, developer: { secret, signing } } = textsIn(frame.locale)
  const action = `${pathOf(frame, application)}/signing-secret`
  return (
    <ApplicationLayout context={context} title={signing.title} isError={isFull} narrow parent="secrets">
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
