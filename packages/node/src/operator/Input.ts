/**
 * The fields of requests and records of the operator API, each with a message for invalid values; their form as text, in
 * a path, a query or a command line; and the problems of a request.
 */
import * as Schema from "effect/Schema"
import * as Application from "@startlist/core/Application"
import * as Delivery from "@startlist/core/Delivery"
import * as Registration from "@startlist/core/Registration"
import { Text } from "@startlist/core/Store"
import * as Subscription from "@startlist/core/Subscription"
import * as User from "@startlist/core/User"
import * as Arr from "effect/Array"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as SchemaAST from "effect/SchemaAST"
import type { Problem } from "@startlist/http/api/ApiResponse"

/** Uses one message for every invalid value. The message never repeats the value. */
export const saying = <A, I, R>(schema: Schema.Schema<A, I, R>, message: string): Schema.Schema<A, I, R> =>
  schema.annotations({ message: () => ({ message, override: true }) })

/** A field that may be absent. */
export const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** A field that may be absent or `null`. */
export const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

/** The id of a user. */
export const UserId = saying(User.UserId, "must be the id of a user, a positive integer")

/** The `client_id` of an application. */
export const ApplicationId = saying(Application.ApplicationId, "must be a client_id, a positive integer")

/** The id of a subscription. */
export const SubscriptionId = saying(
  Subscription.SubscriptionId,
  "must be the id of a subscription, a positive integer"
)

/** The id of a registration. */
export const RegistrationId = saying(
  Registration.RegistrationId,
  "must be the id of a registration, a positive integer"
)

/** The id of a delivery. */
export const DeliveryId = saying(Delivery.DeliveryId, "must be the id of a delivery, a positive integer")

/** A text that every store can save. */
export const Words = saying(Text, "must be text without NUL characters and unpaired surrogates")

/** `true` or `false`. */
export const Flag = saying(Schema.Boolean, "must be true or false")

/** An instant. */
export const Instant = saying(Schema.DateTimeUtc, "must be a date and time such as 2026-01-31T08:00:00Z")

/** Number of records in a page, if the request has no `limit`. */
export const defaultLimit = 50

/** Maximum number of records in a page. */
export const largestPage = 500

/** The fields of a request for a page: those after the record with this id, newest first. */
export const paging = <Id, I>(id: Schema.Schema<Id, I>) => ({
  after: optional(id),
  limit: optional(
    saying(Schema.Int.pipe(Schema.between(1, largestPage)), `must be an integer from 1 to ${largestPage}`)
  )
})

/** The `after` of the next page, if this page is full. */
export const next = (
  page: ReadonlyArray<{ readonly id: number }>,
  limit = defaultLimit
): { readonly next?: number } => {
  const last = page.at(-1)
  return last !== undefined && page.length === limit ? { next: last.id } : {}
}

/** How the text of a field is read. A list has the possible values. */
export type Kind = "text" | "number" | "boolean" | "list" | ReadonlyArray<string>

/** A field of a request. */
export interface Field {
  readonly name: string
  readonly kind: Kind
  readonly isOptional: boolean
}

/** Field values by name, before they are decoded. */
export type Raw = Readonly<Record<string, unknown>>

const isPresent = (ast: SchemaAST.AST): boolean => !(SchemaAST.isLiteral(ast) && ast.literal === null)

const kindOf = (ast: SchemaAST.AST): Kind => {
  const types = SchemaAST.isUnion(ast) ? ast.types.filter(isPresent) : [ast]
  const literals = types.flatMap((one) => SchemaAST.isLiteral(one) ? [one.literal] : [])
  const [first = ast] = types
  if (literals.length > 0) return literals.map(String)
  if (SchemaAST.isNumberKeyword(first)) return "number"
  if (SchemaAST.isBooleanKeyword(first)) return "boolean"
  return SchemaAST.isTupleType(first) ? "list" : "text"
}

/** The fields of a request, in order. */
export const fieldsOf = (fields: Schema.Struct.Fields): ReadonlyArray<Field> => {
  const encoded = SchemaAST.encodedAST(Schema.Struct(fields).ast)
  return SchemaAST.getPropertySignatures(encoded).map(({ isOptional, name, type }) => ({
    name: String(name),
    kind: kindOf(type),
    isOptional
  }))
}

/** The value that a text stands for. A text that has no such value stays, and the schema refuses it. */
export const fromText = (kind: Kind, text: string): unknown =>
  kind === "number" && /^(?:0|[1-9]\d{0,15})$/.test(text)
    ? Number(text)
    : kind === "boolean" && /^(?:true|false)$/.test(text)
    ? text === "true"
    : text

const toProblem = ({ _tag, message, path }: ParseResult.ArrayFormatterIssue): Problem => {
  const [code, text] = path.length === 0
    ? ["invalid", "the body must be a JSON object"]
    : _tag === "Missing"
    ? ["missing", "is missing"]
    : _tag === "Unexpected"
    ? ["unknown_field", "is not a field or parameter of this request"]
    : ["invalid", message]
  return { resource: "Request", field: path.map(String).join("."), code, message: text }
}

/**
 * The problems of a request, one for each field. The first issue of a field has its own message; the others are about
 * `null` and absence, which are also allowed.
 */
const problemsOf = (error: ParseResult.ParseError): ReadonlyArray<Problem> =>
  Arr.dedupeWith(ParseResult.ArrayFormatter.formatErrorSync(error).map(toProblem), (a, b) => a.field === b.field)

// Safe: no field of the operator API needs a service.
const schemaOf = (fields: Schema.Struct.Fields) => Schema.Struct(fields) as unknown as Schema.Schema<Raw, Raw>

/** Decodes fields, and refuses unknown ones. */
export const decode = (fields: Schema.Struct.Fields) => {
  const decoded = Schema.decodeUnknownEither(schemaOf(fields), { onExcessProperty: "error", errors: "all" })
  return (raw: unknown): Either.Either<Raw, ReadonlyArray<Problem>> => Either.mapLeft(decoded(raw), problemsOf)
}

/** Encodes fields. Fails if the service would refuse them. */
export const encode = (fields: Schema.Struct.Fields) => {
  const encoded = Schema.encodeUnknownEither(schemaOf(fields), { errors: "all" })
  return (input: unknown): Either.Either<Raw, ReadonlyArray<Problem>> => Either.mapLeft(encoded(input), problemsOf)
}
