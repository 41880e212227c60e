/** The parts of an OpenAPI document that the reference shows: groups of operations, their fields and an example of each. */
import * as Schema from "effect/Schema"

const Fields = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/** A JSON Schema, as far as the reference reads it. */
interface Shape {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly anyOf?: ReadonlyArray<Shape>
  readonly items?: Shape
  readonly required?: ReadonlyArray<string>
  readonly properties?: Readonly<Record<string, Shape>>
  readonly description?: string
}

const Shape: Schema.Schema<Shape> = Schema.suspend(() =>
  Schema.Struct({
    $ref: Schema.optionalWith(Schema.String, { exact: true }),
    type: Schema.optionalWith(Schema.Union(Schema.String, Schema.Array(Schema.String)), { exact: true }),
    enum: Schema.optionalWith(Schema.Array(Schema.Unknown), { exact: true }),
    const: Schema.optionalWith(Schema.Unknown, { exact: true }),
    anyOf: Schema.optionalWith(Schema.Array(Shape), { exact: true }),
    items: Schema.optionalWith(Shape, { exact: true }),
    required: Schema.optionalWith(Schema.Array(Schema.String), { exact: true }),
    properties: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Shape }), { exact: true }),
    description: Schema.optionalWith(Schema.String, { exact: true })
  })
)

const Content = Schema.Record({
  key: Schema.String,
  value: Schema.Struct({ schema: Schema.optional(Shape), example: Schema.Unknown })
})

const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.Literal("path", "query", "header"),
  required: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  description: Schema.optionalWith(Schema.String, { default: () => "" }),
  schema: Shape,
  example: Schema.Unknown
})

const Described = Schema.Struct({
  tags: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] }),
  summary: Schema.String,
  description: Schema.optionalWith(Schema.String, { default: () => "" }),
  parameters: Schema.optionalWith(Schema.Array(Parameter), { default: () => [] }),
  requestBody: Schema.optional(
    Schema.Struct({ required: Schema.optionalWith(Schema.Boolean, { default: () => false }), content: Content })
  ),
  responses: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({ description: Schema.String, content: Schema.optional(Content) })
  }),
  security: Schema.optionalWith(Schema.Array(Fields), { default: () => [] })
})

const Paths = Schema.Record({
  key: Schema.String,
  value: Schema.Record({ key: Schema.String, value: Described })
})

/** An OpenAPI 3.1 document as JSON text. */
const Document = Schema.parseJson(Schema.Struct({
  tags: Schema.Array(Schema.Struct({
    name: Schema.String,
    description: Schema.optionalWith(Schema.String, { default: () => "" })
  })),
  paths: Paths,
  webhooks: Schema.optionalWith(Paths, { default: () => ({}) }),
  components: Schema.Struct({ schemas: Schema.Record({ key: Schema.String, value: Shape }) })
}))

/** A parameter, or a field of a body. The name of a nested field contains those around it, as `updates.comment`. */
export interface Field {
  readonly name: string
  readonly place: "path" | "query" | "header" | "body"
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

/** An answer of an operation, for example `200`. */
export interface Answer {
  readonly status: string
  readonly description: string
  /** JSON text, or empty. */
  readonly example: string
}

/** An operation as its page describes it. */
export interface Operation {
  /** Unique in its group: the fragment of its heading. */
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  /** The kinds of credentials: one of them is needed. */
  readonly credentials: ReadonlyArray<string>
  readonly fields: ReadonlyArray<Field>
  /** A command, or an example of the body that the service sends. */
  readonly example: string
  readonly answers: ReadonlyArray<Answer>
  /** The fields of the body of a success. */
  readonly answerFields: ReadonlyArray<Field>
}

/** The operations of one page. */
export interface Group {
  readonly name: string
  readonly description: string
  readonly operations: ReadonlyArray<Operation>
}

type Schemas = Readonly<Record<string, Shape>>

const resolve = (shape: Shape, schemas: Schemas): Shape => {
  const named = schemas[shape.$ref?.replace("#/components/schemas/", "") ?? ""]
  return named === undefined ? shape : { ...resolve(named, schemas), ...shape }
}

const isNull = ({ type }: Shape): boolean => type === "null"

/** The type in words: `integer`, `"athlete" or "club"`, `string[]`. */
const typeOf = (given: Shape, schemas: Schemas): string => {
  const shape = resolve(given, schemas)
  if (shape.enum !== undefined) return shape.enum.map((value) => JSON.stringify(value)).join(" or ")
  if (shape.const !== undefined) return JSON.stringify(shape.const)
  if (shape.anyOf !== undefined) {
    const types = shape.anyOf.filter((one) => !isNull(one)).map((one) => typeOf(one, schemas))
    return [...new Set(types)].join(" or ")
  }
  if (shape.items !== undefined) return `${typeOf(shape.items, schemas)}[]`
  return [shape.type ?? "any"].flat().filter((type) => type !== "null").join(" or ")
}

/** The fields of an object, those of nested objects included. */
const fieldsOf = (given: Shape, schemas: Schemas, before = ""): ReadonlyArray<Field> => {
  const { anyOf, properties = {}, required = [] } = resolve(given, schemas)
  const objects = (anyOf ?? []).filter((one) => !isNull(one))
  return [
    ...Object.entries(properties).flatMap(([name, shape]): ReadonlyArray<Field> => [{
      name: before + name,
      place: "body",
      type: typeOf(shape, schemas),
      isRequired: required.includes(name),
      description: shape.description ?? resolve(shape, schemas).description ?? ""
    }, ...fieldsOf(shape, schemas, `${before}${name}.`)]),
    ...objects.flatMap((one) => fieldsOf(one, schemas, before))
  ]
}

const first = <A>(content: Readonly<Record<string, A>> | undefined) => Object.entries(content ?? {})[0]

const json = (value: unknown): string => value === undefined ? "" : JSON.stringify(value, undefined, 2)

/** An argument of a shell command. */
const quoted = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

const headersOf = (credentials: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (credentials.includes("client")) return ["-u CLIENT_ID:CLIENT_SECRET"]
  if (credentials.includes("accessToken")) return [`-H "Authorization: Bearer ACCESS_TOKEN"`]
  return credentials.includes("operatorToken") ? [`-H "Authorization: Bearer OPERATOR_TOKEN"`] : []
}

const curlOf = (url: string, method: string, path: string, described: typeof Described.Type): string => {
  const credentials = described.security.flatMap(Object.keys)
  const [media = "", body] = first(described.requestBody?.content) ?? []
  const example = (name: string) => String(described.parameters.find((one) => one.name === name)?.example ?? name)
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(example(name)))
  const query = described.parameters.filter((one) => one.in === "query" && one.required)
    .map((one) => `${one.name}=${encodeURIComponent(example(one.name))}`).join("&")
  const form = body?.example !== null && typeof body?.example === "object" ? Object.entries(body.example) : []
  const isForm = media === "application/x-www-form-urlencoded"
  // `-u` has them.
  const inForm = form.filter(([name]) => !name.startsWith("client_"))
  return [
    method === "GET" || isForm || body !== undefined && method === "POST" ? "curl" : `curl -X ${method}`,
    ...headersOf(credentials),
    ...isForm ? inForm.map(([name, value]) => `-d ${quoted(`${name}=${String(value)}`)}`) : [],
    ...isForm || body === undefined ? [] : [`--json ${quoted(JSON.stringify(body.example ?? {}))}`],
    quoted(`${url}${target}${query === "" ? "" : `?${query}`}`)
  ].join(" \\\n  ")
}

const toOperation =
  (url: string, schemas: Schemas) =>
  (path: string, method: string, described: typeof Described.Type, isSent: boolean): Operation => {
    const [, body] = first(described.requestBody?.content) ?? []
    const fields = body?.schema === undefined ? [] : fieldsOf(body.schema, schemas)
    const parameters = described.parameters.map((one): Field => ({
      name: one.name,
      place: one.in,
      type: typeOf(one.schema, schemas),
      isRequired: one.required,
      description: one.description
    }))
    // The endpoints of OAuth read the same parameters from the query and from a form.
    const known = new Set(parameters.map(({ name }) => name))
    return {
      id: [method, ...path.match(/[a-z0-9_]+/g) ?? []].join("-"),
      method: method.toUpperCase(),
      path,
      summary: described.summary,
      description: described.description,
      credentials: described.security.flatMap(Object.keys),
      fields: [...parameters, ...fields.filter(({ name }) => !known.has(name))],
      example: isSent ? json(body?.example) : curlOf(url, method.toUpperCase(), path, described),
      answers: Object.entries(described.responses).map(([status, { content, description }]) => ({
        status,
        description,
        example: json(first(content)?.[1].example)
      })),
      answerFields: Object.entries(described.responses)
        .flatMap(([status, { content }]) => status.startsWith("2") ? [first(content)?.[1].schema] : [])
        .flatMap((schema) => schema === undefined ? [] : fieldsOf(schema, schemas))
    }
  }

/** Number of operations that make an error a common one, which is described once. */
const common = 8

/** The errors that many operations have in common, with the same description. */
export const commonErrors = (groups: ReadonlyArray<Group>): ReadonlyArray<Answer> => {
  const found = new Map<string, ReadonlyArray<Answer>>()
  for (const answer of groups.flatMap(({ operations }) => operations.flatMap(({ answers }) => answers))) {
    if (answer.status < "400") continue
    const key = `${answer.status} ${answer.description}`
    found.set(key, [...found.get(key) ?? [], answer])
  }
  return [...found.values()].flatMap((all) => all.length < common ? [] : all.slice(0, 1))
    .sort((one, other) => Number(one.status) - Number(other.status))
}

/** The groups of a document, in its order, and then what the service sends to callbacks. `url` is the service. */
export const groupsOf = (text: string, url: string): ReadonlyArray<Group> => {
  const document = Schema.decodeSync(Document)(text)
  const toOne = toOperation(url, document.components.schemas)
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ described, one: toOne(path, method, described, false) }))
  )
  const sent = Object.values(document.webhooks).flatMap((methods) =>
    Object.entries(methods).map(([method, described]) => toOne("callback_url", method, described, true))
  )
  return [
    ...document.tags.map(({ description, name }) => ({
      name,
      description,
      operations: operations.filter(({ described }) => described.tags.includes(name)).map(({ one }) => one)
    })),
    ...sent.length === 0 ? [] : [{ name: "events", description: "", operations: sent }]
  ]
}
