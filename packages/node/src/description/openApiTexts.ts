/** Adds texts and examples to an OpenAPI document: a text for each field and operation, an example for each body. */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as ProtocolTexts from "@startlist/http/description/ProtocolTexts"
import { groups } from "../operator/operations.ts"

type Json = Readonly<Record<string, unknown>>

const fields = new Map(
  [ProtocolTexts.fields, ...Object.values(groups).map(({ texts }) => texts)].flatMap(Object.entries)
)
const operations = new Map(Object.entries(ProtocolTexts.operations))

const isJson = (value: unknown): value is Json => Predicate.isRecord(value)

const textOf = (owner: string, name: string) => fields.get(`${owner}.${name}`) ?? fields.get(name)

const mapValues = (record: Json, change: (value: unknown, key: string) => unknown): Json =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))

const componentOf = (schema: Json): string => /^#\/components\/schemas\/(\w+)$/.exec(String(schema["$ref"]))?.[1] ?? ""

/** Adds a description to each property of a schema. `owner` is the component to which it belongs. */
export const explainSchema = (schema: unknown, owner: string): unknown => {
  if (Array.isArray(schema)) return schema.map((one) => explainSchema(one, owner))
  if (!isJson(schema)) return schema
  const { title: _, ...rest } = schema
  return mapValues(rest, (value, key) => {
    if (key !== "properties" || !isJson(value)) {
      return ["items", "anyOf", "oneOf", "additionalProperties"].includes(key) ? explainSchema(value, owner) : value
    }
    return mapValues(value, (property, name) => {
      const explained = explainSchema(property, owner)
      const [description] = textOf(owner, name) ?? []
      return isJson(explained) && description !== undefined ? { ...explained, description } : explained
    })
  })
}

/** The example, if the schema allows it. */
const fitting = (schema: unknown, example: unknown): unknown =>
  isJson(schema) && Array.isArray(schema["enum"]) && !schema["enum"].includes(example) ? undefined : example

/** A value that fits the schema, made of the examples of its fields. */
export const exampleOf = (schema: unknown, components: Json, owner = ""): unknown => {
  if (!isJson(schema)) return undefined
  const component = componentOf(schema)
  if (component !== "") return exampleOf(components[component], components, component)
  const properties = schema["properties"]
  if (isJson(properties)) {
    return Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [
        name,
        fitting(property, textOf(owner, name)?.[1]) ?? exampleOf(property, components, owner)
      ])
    )
  }
  if (schema["type"] === "array") return [exampleOf(schema["items"], components, owner)]
  const [first] = [schema["anyOf"], schema["oneOf"]].flat().filter(isJson)
  if (first !== undefined) return exampleOf(first, components, owner)
  return Array.isArray(schema["enum"]) ? schema["enum"][0] : schema["type"] === "string" ? "…" : {}
}

const explainContent = (content: unknown, components: Json, given: unknown): unknown =>
  isJson(content)
    ? mapValues(content, (media) =>
      isJson(media)
        ? {
          ...media,
          schema: explainSchema(media["schema"], ""),
          example: given ?? exampleOf(media["schema"], components)
        }
        : media)
    : content

const explainParameter = (parameter: unknown): unknown => {
  if (!isJson(parameter)) return parameter
  const [description, example] = fields.get(String(parameter["name"])) ?? []
  const { schema } = parameter
  const isInteger = isJson(schema) && schema["type"] === "integer"
  const number = Number(example)
  return {
    ...parameter,
    schema: explainSchema(schema, ""),
    description,
    // A field has one example. A parameter of the same name may have another type.
    example: !isInteger ? fitting(schema, example) : Number.isInteger(number) ? number : undefined
  }
}

const explainOperation = (operation: unknown, components: Json): unknown => {
  if (!isJson(operation)) return operation
  const { parameters, requestBody, responses, ...rest } = operation
  const text = operations.get(String(operation["operationId"]))
  return {
    ...rest,
    summary: text?.summary ?? operation["summary"],
    description: text?.description ?? operation["description"],
    parameters: Array.isArray(parameters) ? parameters.map(explainParameter) : parameters,
    ...(isJson(requestBody)
      ? { requestBody: { ...requestBody, content: explainContent(requestBody["content"], components, text?.request) } }
      : {}),
    responses: isJson(responses)
      ? mapValues(responses, (response, status) =>
        isJson(response)
          ? {
            ...response,
            content: explainContent(
              response["content"],
              components,
              status.startsWith("2") ? text?.response : undefined
            )
          }
          : response)
      : responses
  }
}

/** Inlines references to whole numbers, and replaces the framework's error body by ours. */
const withOwnNames = (document: Json): Json => {
  const text = JSON.stringify(document)
    .replaceAll("\"$ref\":\"#/components/schemas/Int\"", "\"type\":\"integer\"")
    .replaceAll("#/components/schemas/HttpApiDecodeError", "#/components/schemas/ApiError")
  const renamed: unknown = JSON.parse(text)
  return isJson(renamed) ? renamed : {}
}

/** Adds texts and examples to a document. */
export const explain = (document: Json): Json => {
  const renamed = withOwnNames(document)
  const { components, paths, ...rest } = renamed
  if (!isJson(components) || !isJson(components["schemas"]) || !isJson(paths)) return renamed
  const { HttpApiDecodeError: _, Int: __, ...schemas } = components["schemas"]
  return {
    ...rest,
    components: { ...components, schemas: mapValues(schemas, explainSchema) },
    paths: mapValues(
      paths,
      (methods) => isJson(methods) ? mapValues(methods, (operation) => explainOperation(operation, schemas)) : methods
    )
  }
}

/** The text of a field, for hand-written documents. */
export const descriptionOf = (name: string): string =>
  Option.getOrElse(Option.fromNullable(fields.get(name)), () => [""] as const)[0]
