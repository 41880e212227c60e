/** Client secrets and signing secrets of applications. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Application from "@startlist/core/Application"
import { type Lifetime, live } from "@startlist/core/ApplicationSecret"
import { Applications } from "@startlist/core/Applications"
import type { FieldTexts } from "@startlist/http/description/ProtocolTexts"
import { ApplicationId, Flag, maybe, optional, saying } from "./Input.ts"
import { command, operation } from "./Operation.ts"

const client_id = "the application's client_id"

const lifetime = { number: Schema.Int, expires_at: Schema.optional(Schema.String) }

const showLifetime = ({ expiresAt, number }: Lifetime) => ({
  number,
  ...Option.match(expiresAt, { onNone: () => ({}), onSome: (at) => ({ expires_at: DateTime.formatIso(at) }) })
})

const listSecrets = operation({
  request: "GET /applications/{client_id}/secrets",
  summary: "List the live secrets",
  description: "Lists number and end of the live client and signing secrets, newest first, without their values.",
  command: {
    name: "application secrets",
    help: "lists the live client and signing secrets: number and end of each",
    arguments: { client_id }
  },
  input: { client_id: ApplicationId },
  output: Schema.Struct({
    client_secrets: Schema.Array(Schema.Struct(lifetime)),
    signing_secrets: Schema.Array(Schema.Struct(lifetime))
  }).annotations({ identifier: "SecretList" }),
  refuses: [404],
  run: ({ client_id }) =>
    Effect.gen(function*() {
      const { find, signingSecrets } = yield* Applications
      const application = yield* find(client_id)
      const signing = yield* signingSecrets(client_id)
      const now = yield* DateTime.now
      return {
        client_secrets: live(application.secrets, now).map(showLifetime),
        signing_secrets: live(signing.secrets, now).map(showLifetime)
      }
    })
})

const maxOverlap = Duration.toSeconds(Duration.days(30))

const overlap_seconds = maybe(
  saying(Schema.Int.pipe(Schema.between(0, maxOverlap)), `must be an integer from 0 to ${maxOverlap}`)
)

const overlap = "seconds for which the present secret stays valid; 0 ends all others (default: SECRET_OVERLAP)"

const rotationOf = (seconds: number | undefined) => ({
  overlap: seconds === undefined ? undefined : Duration.seconds(seconds)
})

const rotateSecret = operation({
  request: "POST /applications/{client_id}/secrets",
  summary: "Replace the client secret",
  description:
    "Makes a new client secret and shows it only in this response. The present one stays valid for the overlap, and older ones until their ends. With an overlap of 0, all others end. At most five are live: the sixth gets 409, which names one to end.",
  command: {
    name: "application rotate-secret",
    help: "makes a new client secret and shows it, only this once",
    arguments: { client_id },
    options: { overlap_seconds: overlap }
  },
  input: { client_id: ApplicationId, overlap_seconds },
  output: Schema.Struct({ client_secret: Schema.String, number: Schema.Int }),
  status: 201,
  refuses: [404, 409],
  run: ({ client_id, overlap_seconds }) =>
    Effect.map(
      Effect.flatMap(Applications, (service) => service.rotateSecret(client_id, rotationOf(overlap_seconds))),
      ({ application, secret }) => ({
        client_secret: Redacted.value(secret),
        number: application.secrets[0]?.number ?? 0
      })
    )
})

const secretNumber = saying(Schema.Int.pipe(Schema.positive()), "must be the number of a secret, a positive integer")

const endSecret = operation({
  request: "DELETE /applications/{client_id}/secrets/{number}",
  summary: "End a client secret",
  description: "Ends a replaced client secret immediately. The current one has no end: replace it instead.",
  input: { client_id: ApplicationId, number: secretNumber },
  output: Schema.Void,
  status: 204,
  refuses: [404, 409],
  run: ({ client_id, number }) => Effect.flatMap(Applications, (service) => service.endSecret(client_id, number))
})

const endSigningSecret = operation({
  request: "DELETE /applications/{client_id}/signing-secrets/{number}",
  summary: "End a signing secret",
  description: "Ends a replaced signing secret immediately. The current one has no end: replace it instead.",
  input: { client_id: ApplicationId, number: secretNumber },
  output: Schema.Void,
  status: 204,
  refuses: [404, 409],
  run: ({ client_id, number }) => Effect.flatMap(Applications, (service) => service.endSigningSecret(client_id, number))
})

const endAnySecret = command({
  name: "application end-secret",
  help: "ends a replaced secret before its time",
  arguments: { client_id, number: "the number of the secret, as `secrets` lists it" },
  options: { signing: { about: "end a signing secret, not a client secret", type: "switch" } },
  input: { client_id: ApplicationId, number: secretNumber, signing: optional(Flag) },
  ask: ({ signing = false, ...secret }, call) => call(signing ? endSigningSecret : endSecret, secret)
})

const SigningSecrets = Schema.Struct({
  signing_secrets: Schema.Array(Schema.Struct({ value: Schema.String, ...lifetime }))
}).annotations({ identifier: "SigningSecrets" })

/** The secrets that sign now, newest first. */
const withLifetimes = ({ secrets }: Application.SigningSecrets) =>
  Effect.map(DateTime.now, (now): typeof SigningSecrets.Type => ({
    signing_secrets: live(secrets, now).map((secret) => ({
      value: Redacted.value(secret.value),
      ...showLifetime(secret)
    }))
  }))

const showSigningSecrets = operation({
  request: "GET /applications/{client_id}/signing-secrets",
  summary: "Show the signing secrets",
  description: "Shows the secrets that currently sign the application's events.",
  command: {
    name: "application signing-secret",
    help: "shows the signing secrets, newest first: all of them sign",
    arguments: { client_id }
  },
  input: { client_id: ApplicationId },
  output: SigningSecrets,
  refuses: [404],
  run: ({ client_id }) =>
    Effect.flatMap(Effect.flatMap(Applications, (service) => service.signingSecrets(client_id)), withLifetimes)
})

const rotateSigningSecret = operation({
  request: "POST /applications/{client_id}/signing-secrets",
  summary: "Replace the signing secret",
  description:
    "Makes a new signing secret. The present one also signs for the overlap, and older ones until their ends. With an overlap of 0, all others end. At most five are live.",
  command: {
    name: "application rotate-signing-secret",
    help: "makes a new signing secret; the others also sign until they end",
    arguments: { client_id },
    options: { overlap_seconds: overlap }
  },
  input: { client_id: ApplicationId, overlap_seconds },
  output: SigningSecrets,
  status: 201,
  refuses: [404, 409],
  run: ({ client_id, overlap_seconds }) =>
    Effect.flatMap(
      Effect.flatMap(Applications, (service) => service.rotateSigningSecret(client_id, rotationOf(overlap_seconds))),
      withLifetimes
    )
})

/** The operations and commands on secrets, in the order of the help. */
export const secrets = {
  listSecrets,
  rotateSecret,
  endSecret,
  endSigningSecret,
  endAnySecret,
  showSigningSecrets,
  rotateSigningSecret
}

/** Texts and examples of their fields. */
export const secretTexts = {
  client_secrets: ["Live client secrets, newest first", undefined],
  expires_at: ["If the secret was replaced, its end: ISO 8601 in UTC with milliseconds", "2026-06-01T08:00:00.000Z"],
  number: ["Number of the secret among those of its kind", 2],
  overlap_seconds: [
    "Seconds for which the present secret stays valid; 0 ends all others. Default: `SECRET_OVERLAP`",
    3600
  ],
  signing_secret: [
    "Signs the events of the application (Standard Webhooks)",
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
  ],
  signing_secrets: ["Secrets that sign events now, newest first", undefined],
  value: ["The secret", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"]
} satisfies FieldTexts
