/** Each record as JSON, by the schemas of the core. The signing secrets are sealed as well. */
import { Application, ApplicationSecret, Delivery, Grant, Registration, Subscription } from "@startlist/core"
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

export const application = record(Application.Application)
export const grant = record(Grant.Grant)
export const registration = record(Registration.Registration)
export const subscription = record(Subscription.Subscription)
export const delivery = record(Delivery.Delivery)

/** The signing secrets are read in clear text, so this record needs the key. */
export const signing = (seal: Seal): Record<Application.SigningSecrets> => {
  const sealed = Schema.transform(Schema.String, Schema.String, {
    strict: true,
    decode: seal.unseal,
    encode: seal.seal
  })
  const value = Schema.compose(sealed, Schema.Redacted(Schema.NonEmptyString))
  const secret = Schema.Struct({ ...ApplicationSecret.SigningSecret.fields, value })
  return record(Schema.Struct({ ...Application.SigningSecrets.fields, secrets: Schema.Array(secret) }))
}
