/**
 * The records of an import, one in each line of a file: their readers, what was done with them, and which lines were refused.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as EffectRecord from "effect/Record"
import * as Schema from "effect/Schema"
import { ApplicationId, Settings } from "./Application.ts"
import { RegistrationId } from "./Registration.ts"
import { Fingerprint } from "./Secrets.ts"
import { type StoreError, Text, unsafeBrand } from "./Store.ts"
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

interface Tagged {
  readonly kind: string
}

/** A reader for each kind of these records. */
export type Readers<R extends Tagged> = {
  readonly [Kind in R["kind"]]: Reader<Extract<R, { readonly kind: Kind }>>
}

/** The readers of `Record`. */
export const readers: Readers<Record> = {
  application: readerOf(ApplicationRecord),
  registration: readerOf(RegistrationRecord),
  subscription: readerOf(SubscriptionRecord),
  grant: readerOf(GrantRecord)
}

/** A record cannot be imported. Nothing of it was stored. The message says why. */
export class ImportRefused extends Schema.TaggedError<ImportRefused>()("@startlist/core/ImportRefused", {
  message: Schema.String
}) {}

/** `unchanged`: the record is here already, or its user was erased. `updated`: a grant has later tokens or was revoked. */
export type Outcome = "added" | "updated" | "unchanged"

/** The number of records of one kind by what was done with them. */
export type Counts = { readonly [Done in Outcome | "refused"]: number }

/** A line that was not imported. */
export interface Refused {
  /** From 1. */
  readonly line: number
  readonly message: string
}

/** How to import lines. */
export interface LinesOptions<R extends Tagged> {
  /** The kinds, in the order of the counts. */
  readonly readers: Readers<R>
  /** Kinds in the order of their passes: records of a later pass name those of an earlier one. */
  readonly passes: ReadonlyArray<ReadonlyArray<R["kind"]>>
  readonly add: (record: R) => Effect.Effect<Outcome, ImportRefused | StoreError>
  /** Called for each line that is refused. Nothing of it is stored. */
  readonly onRefused: (refused: Refused) => Effect.Effect<void>
}

/** An import in progress. */
export interface Lines<Kind extends string> {
  /**
   * Imports a line, JSON text or the object, if the pass has its kind. The first pass refuses what is no record. `line` is
   * its number. Fails while the store is unavailable: repeat the import, which continues.
   */
  readonly add: (pass: number) => (text: unknown, line: number) => Effect.Effect<void, StoreError>
  /** Counts by kind. They grow with each line. */
  readonly counts: { readonly [One in Kind]: Counts }
}

/** The record of a line, or why it has none. None for the lines of other passes and for empty lines. */
const parse = <R extends Tagged>(
  { passes, readers }: LinesOptions<R>,
  text: unknown,
  pass: number
): Either.Either<Option.Option<R>, string> => {
  const isKind = (kind: unknown): kind is R["kind"] => typeof kind === "string" && Object.hasOwn(readers, kind)
  if (typeof text === "string" && text.trim() === "") return Either.right(Option.none())
  // An object, too, becomes JSON: its dates are then texts.
  const json = Either.try((): unknown => JSON.parse(typeof text === "string" ? text : JSON.stringify(text)))
  const value = Either.getOrNull(json)
  const kind = Predicate.hasProperty(value, "kind") ? value.kind : undefined
  if (isKind(kind)) {
    return passes[pass]?.includes(kind) === true
      ? Either.map(readers[kind](value), Option.some)
      : Either.right(Option.none())
  }
  if (pass > 0) return Either.right(Option.none())
  if (Either.isLeft(json)) return Either.left("it is not a JSON object")
  return Either.left(
    kind === "user"
      ? "kind: users are not imported here, because the embedding server has its own"
      : `kind: must be one of ${Object.keys(readers).join(", ")}`
  )
}

const isUnavailable = (error: ImportRefused | StoreError): boolean =>
  error._tag === "@startlist/core/StoreError" && error.isRefused !== true

/** A failure of the store is retried, because nothing of a record is half stored. */
const retries = { times: 3, while: isUnavailable }

/** Begins an import. */
export const makeLines = <R extends Tagged>(options: LinesOptions<R>): Lines<R["kind"]> => {
  const zero = () => ({ added: 0, updated: 0, unchanged: 0, refused: 0 })
  const counts = EffectRecord.map<R["kind"], unknown, ReturnType<typeof zero>>(options.readers, zero)
  return {
    counts,
    add: (pass) => (text, line) => {
      const record = parse(options, text, pass)
      if (Either.isLeft(record)) return options.onRefused({ line, message: record.left })
      if (Option.isNone(record.right)) return Effect.void
      const { value } = record.right
      const count: ReturnType<typeof zero> = counts[value.kind as R["kind"]]
      return Effect.matchEffect(Effect.retry(options.add(value), retries), {
        onSuccess: (outcome) => Effect.sync(() => count[outcome]++),
        onFailure: (error) => {
          const isOfStore = error._tag === "@startlist/core/StoreError"
          if (isOfStore && isUnavailable(error)) return Effect.fail(error)
          count.refused++
          return options.onRefused({ line, message: isOfStore ? "it cannot be stored" : error.message })
        }
      })
    }
  }
}
