/** How each record is written as JSON: instants as milliseconds, absence as null. */
import { Application, Delivery, Event, Grant, Registration, Subscription, Token, User } from "@startlist/core"
import { Schema } from "effect"
import type { Seal } from "./Seal.ts"

export interface Record<A> {
  readonly write: (value: A) => string
  readonly read: (text: string) => A
}

const record = <A, I>(schema: Schema.Schema<A, I>): Record<A> => {
  const json = Schema.parseJson(schema)
  return { write: Schema.encodeSync(json), read: Schema.decodeSync(json) }
}

const Instant = Schema.DateTimeUtcFromNumber
const MaybeInstant = Schema.OptionFromNullOr(Instant)
const MaybeText = Schema.OptionFromNullOr(Schema.String)
const same = <A>(value: A) => value

export const application = record(
  Schema.Struct({
    ...Application.Application.fields,
    secrets: Schema.Array(Schema.Struct({ ...Application.ClientSecret.fields, expiresAt: MaybeInstant })),
    createdAt: Instant
  })
)

export const grant = record(
  Schema.Struct({ ...Grant.Grant.fields, grantedAt: Instant, issuedAt: MaybeInstant })
)

export const code = record(
  Schema.Struct({ ...Token.Code.fields, state: MaybeText, challenge: MaybeText, expiresAt: Instant })
)

export const refreshToken = record(
  Schema.Struct({ ...Token.RefreshToken.fields, expiresAt: Instant })
)

export const accessToken = record(
  Schema.Struct({ ...Token.AccessToken.fields, createdAt: Instant, expiresAt: Instant })
)

const Party = Schema.OptionFromNullOr(User.UserId)

export const registration = record(
  Schema.Struct({
    ...Registration.Registration.fields,
    parties: Schema.Struct({
      athleteId: User.UserId,
      organizerId: Party,
      clubId: Party,
      platformUserId: Party
    })
  })
)

export const delivery = record(
  Schema.Struct({
    ...Delivery.Delivery.fields,
    event: Schema.transform(
      Schema.Struct({ ...Event.Event.fields, time: Instant }),
      Schema.typeSchema(Event.Event),
      { strict: true, decode: same, encode: same }
    ),
    attempts: Schema.Array(Schema.Struct({
      ...Delivery.Attempt.fields,
      at: Instant,
      status: Schema.OptionFromNullOr(Schema.Int)
    })),
    dueAt: Instant,
    endedAt: MaybeInstant
  })
)

/** The signing secrets are sealed, so this one needs a key. */
export const subscription = ({ seal, unseal }: Seal): Record<Subscription.Subscription> =>
  record(
    Schema.Struct({
      ...Subscription.Subscription.fields,
      createdAt: Instant,
      updatedAt: Instant,
      signingSecrets: Schema.Array(Schema.Struct({
        value: Schema.transform(Schema.String, Schema.RedactedFromSelf(Schema.NonEmptyString), {
          strict: true,
          decode: unseal,
          encode: seal
        }),
        expiresAt: MaybeInstant
      }))
    })
  )
