/** Fields of a request as text, from a path, a query or a command line, and the problems of a request. */
import * as Arr from "effect/Array"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { Problem } from "@startlist/http/api/ApiResponse"

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
export const problemsOf = (error: ParseResult.ParseError): ReadonlyArray<Problem> =>
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
