/** The records of an import, as the lines of its file have them, and their readers. */
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { ApplicationId, Settings } from "./Application.ts"
import { RegistrationId } from "./Registration.ts"
import { Fingerprint } from "./Secrets.ts"
import { Text, unsafeBrand } from "./Store.ts"
import { SubscriptionId } from "./Subscription.ts"
import { UserId } from "./User.ts"

/** An instant in ISO 8601. With its zone: otherwise its meaning would depend on the machine. */
const Instant = Schema.String.pipe(
  Schema.pattern(/^\d{4}-\d\d-\d\d[T ].*(?:Z|[+-]\d\d(?::?\d\d)?)$/, {
    message: () => "must be a date in ISO 8601 with a zone, such as 2026-01-31T12:00:00Z"
  }),
  Schema.compose(Schema.DateTimeUtc)
)

/** SHA-256 of a token or secret in UTF-8: 64 hexadecimal digits, or base64 or base64url. */
const Sha256 = Schema.String.pipe(Schema.filter((text) => Option.isSome(fingerprintOf(text)), {
  message: () => "must be a SHA-256 in hexadecimal digits or base64"
}))

/** The fingerprint of a SHA-256 in one of these forms. None for another text. */
export const fingerprintOf = (text: string): Option.Option<Fingerprint> => {
  const bytes = /^[\da-f]{64}$/i.test(text)
    ? Encoding.decodeHex(text.toLowerCase())
    : /^[\w+/-]{43}=?$/.test(text)
    ? Encoding.decodeBase64Url(text.replace("=", "").replaceAll("+", "-").replaceAll("/", "_"))
    : Either.left(undefined)
  return Option.map(Either.getRight(bytes), (found) => unsafeBrand(Fingerprint, Encoding.encodeBase64Url(found)))
}

/** A field that may be missing or null. */
export const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/** An application. `secret_hash`: a SHA-256, or a hash that `ImportedHashes` can check. */
export const ApplicationRecord = Schema.Struct({
  kind: Schema.Literal("application"),
  client_id: ApplicationId,
  name: Settings.fields.name,
  owner_id: UserId,
  redirect_uris: Schema.Array(Schema.String),
  require_pkce: optional(Schema.Boolean),
  secret_hash: Schema.NonEmptyString,
  created_at: Instant
})

/** A consent with its tokens that are valid. `revoked`: ends the grant if it was imported before and not used since. */
export const GrantRecord = Schema.Struct({
  kind: Schema.Literal("grant"),
  client_id: ApplicationId,
  user_id: UserId,
  scope: Schema.String,
  granted_at: Instant,
  revoked: optional(Schema.Boolean),
  /** Without `expires_at`, it expires like a refresh token that was issued now. */
  refresh_token: optional(Schema.Struct({ hash: Sha256, issued_at: Instant, expires_at: optional(Instant) })),
  /** Without `scope`, an access token has that of the grant. */
  access_tokens: optional(
    Schema.Array(
      Schema.Struct({ hash: Sha256, created_at: Instant, expires_at: Instant, scope: optional(Schema.String) })
    )
  )
})

/** A subscription, whose callback is not validated again. */
export const SubscriptionRecord = Schema.Struct({
  kind: Schema.Literal("subscription"),
  id: SubscriptionId,
  client_id: ApplicationId,
  callback_url: Schema.NonEmptyString.pipe(Schema.maxLength(255)),
  /** `whsec_` and 24 to 64 bytes in base64. Replaces the secret that the application has. */
  signing_secret: optional(Schema.String.pipe(Schema.pattern(/^whsec_[A-Za-z\d+/]{32,86}={0,2}$/))),
  created_at: Instant,
  updated_at: optional(Instant)
})

/** A registration. Missing fields are empty. */
export const RegistrationRecord = Schema.Struct({
  kind: Schema.Literal("registration"),
  id: RegistrationId,
  athlete_id: UserId,
  organizer_id: optional(UserId),
  club_id: optional(UserId),
  platform_user_id: optional(UserId),
  platform_id: optional(Text),
  registration_status: optional(Text),
  document_type: optional(Text),
  document_status: optional(Text),
  reasons: optional(Schema.Array(Text)),
  comment: optional(Text)
})

/** Records of every kind but users, which the embedding server owns. */
export const Record = Schema.Union(ApplicationRecord, GrantRecord, SubscriptionRecord, RegistrationRecord)
export type Record = typeof Record.Type

/** Reads a record of one kind, or says what is wrong with it: `field: problem`. */
export type Reader<A> = (value: unknown) => Either.Either<A, string>

/** The first problem of a record, with the name of its field. */
const describe = (error: ParseResult.ParseError): string => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  const path = issue?.path.join(".") ?? ""
  return path === "" ? issue?.message ?? error.message : `${path}: ${issue?.message}`
}

/** The reader of a schema. It refuses fields that the schema does not have. */
export const readerOf = <A, I>(schema: Schema.Schema<A, I>): Reader<A> => {
  const decode = Schema.decodeUnknownEither(schema, { onExcessProperty: "error" })
  return (value) => Either.mapLeft(decode(value), describe)
}

/** A reader for each kind of these records. */
export type Readers<R extends { readonly kind: string }> = {
  readonly [Kind in R["kind"]]: Reader<Extract<R, { readonly kind: Kind }>>
}

/** The readers of `Record`. */
export const readers: Readers<Record> = {
  application: readerOf(ApplicationRecord),
  registration: readerOf(RegistrationRecord),
  subscription: readerOf(SubscriptionRecord),
  grant: readerOf(GrantRecord)
}
