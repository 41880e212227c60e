/** `openapi.json` and `asyncapi.json` are valid by published validators, and describe everything. */
import { describe, expect, it } from "@effect/vitest"
import { Validator } from "@seriousme/openapi-schema-validator"
import asyncApiSpecs from "@asyncapi/specs"
import { Ajv2020 } from "ajv/dist/2020.js"
import Ajv from "ajv"
import addFormats from "ajv-formats"
import { Fake } from "@startlist/fake"
import { asyncDocument, document } from "@startlist/node/description/OpenApiDocument"

// oxlint-disable-next-line typescript/no-explicit-any -- the documents are looked at from outside
type Json = any

const openApi: Json = JSON.parse(document())
const asyncApi: Json = JSON.parse(asyncDocument())

/** Everything without a description: properties at any depth. */
const fieldsWithout = (schema: Json, at: string): ReadonlyArray<string> => {
  if (typeof schema !== "object" || schema === null) return []
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, property]: [string, Json]) => [
    ...(typeof property.description === "string" && property.description !== "" ? [] : [`${at}.${name}`]),
    ...fieldsWithout(property, `${at}.${name}`)
  ])
  const others = [schema.anyOf, schema.oneOf, schema.allOf, schema.items].flat()
  return [...own, ...others.flatMap((one) => fieldsWithout(one, at))]
}

const methods = ["get", "post", "patch", "delete"]

const operations = (document: Json): ReadonlyArray<readonly [string, Json]> =>
  Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([path, item]: [string, Json]) =>
    Object.entries(item).filter(([method]) => methods.includes(method))
      .map(([method, operation]) => [`${method} ${path}`, operation] as const)
  )

const mediaOf = (operation: Json): ReadonlyArray<readonly [string, Json]> => [
  ...Object.entries(operation.requestBody?.content ?? {}),
  ...Object.entries(operation.responses).flatMap(([status, response]: [string, Json]) =>
    Object.entries(response.content ?? {}).map(([type, media]) => [`${status} ${type}`, media] as const)
  )
]

/** Operations, fields and bodies without a text or an example. */
const without = (document: Json): ReadonlyArray<string> => [
  ...Object.entries(document.components.schemas).flatMap(([name, schema]) => fieldsWithout(schema, name)),
  ...operations(document).flatMap(([name, operation]) => [
    ...["summary", "description"].filter((text) => !operation[text]).map((text) => `${name}: ${text}`),
    ...(operation.parameters ?? []).filter(({ description }: Json) => !description)
      .map((parameter: Json) => `${name} ?${parameter.name}`),
    ...mediaOf(operation).flatMap(([place, media]) => [
      ...fieldsWithout(media.schema, `${name} ${place}`),
      ...(media.example === undefined ? [`${name} ${place}: example`] : [])
    ]),
    ...Object.entries(operation.responses).filter(([, { description }]: [string, Json]) => !description)
      .map(([status]) => `${name} ${status}`)
  ])
]

describe("openapi.json", () => {
  it("is valid OpenAPI 3.1", async () => {
    const { errors, valid } = await new Validator().validate(document())
    expect([valid, errors]).toEqual([true, undefined])
  })

  it("has a text for every operation, field and webhook, and an example of each body", () => {
    expect(operations(openApi).length).toBeGreaterThan(30)
    expect(Object.keys(openApi.webhooks)).toEqual(["event", "challenge"])
    expect(without(openApi)).toEqual([])
  })

  it("the check finds a missing text", () => {
    const broken: Json = structuredClone(openApi)
    delete broken.paths["/api/v1/athlete"].get.summary
    delete broken.components.schemas.Tokens.properties.scope.description
    delete broken.webhooks.event.post.parameters[0].description
    expect(without(broken)).toEqual(["Tokens.scope", "get /api/v1/athlete: summary", "post event ?webhook-id"])
  })

  it("has examples that fit their schemas", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    addFormats.default(ajv)
    ajv.addSchema({ $id: "openapi", ...openApi })
    const wrong = operations(openApi).flatMap(([name, operation]) =>
      mediaOf(operation).flatMap(([place, { example, schema }]) => {
        const text = JSON.stringify(schema).replaceAll("\"#/", "\"openapi#/")
        return ajv.validate(JSON.parse(text), example) ? [] : [`${name} ${place}: ${ajv.errorsText()}`]
      })
    )
    expect(wrong).toEqual([])
  })

  it("has no names of our tools", () => {
    expect(document()).not.toMatch(/HttpApi|Effect|maxLength\(|between\(/)
  })

  it("names the headers of a signed event", () => {
    expect(openApi.webhooks.event.post.parameters.map(({ name }: Json) => name)).toEqual([
      "webhook-id",
      "webhook-timestamp",
      "webhook-signature",
      "startlist-sequence"
    ])
  })
})

describe("openapi.json of the fake", () => {
  it("is valid OpenAPI 3.1, and each control has a summary", async () => {
    const fake = await Fake.start()
    try {
      const described: Json = await (await fetch(`${fake.url}/fake/openapi.json`)).json()
      expect(await new Validator().validate(described)).toMatchObject({ valid: true })
      expect(operations(described).length).toBeGreaterThan(10)
      expect(operations(described).filter(([, { summary }]) => !summary)).toEqual([])
    } finally {
      await fake.stop()
    }
  })
})

describe("asyncapi.json", () => {
  it("is valid AsyncAPI 3.0", () => {
    const ajv = new Ajv.default({ strict: false, allErrors: true, validateFormats: false })
    const { schemasWithoutId }: Json = asyncApiSpecs
    const isValid = ajv.validate(schemasWithoutId["3.0.0"], asyncApi)
    expect([isValid, ajv.errorsText()]).toEqual([true, "No errors"])
  })

  it("has a text for every field, and an example that fits", () => {
    const { examples: [example], headers, payload } = asyncApi.components.messages.event
    expect([...fieldsWithout(headers, "headers"), ...fieldsWithout(payload, "payload")]).toEqual([])
    const ajv = new Ajv.default({ strict: false })
    expect([ajv.validate(payload, example.payload), ajv.errorsText()]).toEqual([true, "No errors"])
    expect([ajv.validate(headers, example.headers), ajv.errorsText()]).toEqual([true, "No errors"])
  })

  it("is the same as docs/asyncapi.json", async () => {
    await expect(asyncDocument()).toMatchFileSnapshot("../../../docs/asyncapi.json")
  })
})
