/** Everything that the service serves: the operations of its OpenAPI document, and the routes of the program. */
import { Effect, Layer, Redacted, Ref } from "effect"
import { DatabaseHealth } from "@startlist/node/data/DatabaseHealth"
import * as Service from "@startlist/node/Service"
import { statusRoutes } from "@startlist/node/ServiceRoutes"
import * as InMemory from "../../../../../pages/test/support/Service.ts"
import type { MeasuredService } from "./MeasuredService.ts"
import type { Body, Pairs } from "./Requests.ts"
import { at, isRecord, sample } from "./Samples.ts"

export interface Operation {
  readonly method: string
  readonly path: string
  readonly query: Pairs
  readonly body: Body
}

export const formType = "application/x-www-form-urlencoded"

const bodyOf = (operation: unknown, document: unknown): Body => {
  const content = at(operation, "requestBody", "content")
  if (!isRecord(content)) return { _tag: "None" }
  const form = content[formType]
  if (form === undefined) {
    return { _tag: "Json", value: sample(at(content["application/json"], "schema"), "", document) }
  }
  const fields = sample(at(form, "schema"), "", document)
  return {
    _tag: "Form",
    fields: Object.entries(isRecord(fields) ? fields : {}).map(([name, value]): readonly [string, string] => [
      name,
      String(value)
    ]).filter(([, value]) => value !== "")
  }
}

/** Replaces e-mail addresses by unused ones. */
const unused = (path: string, body: Body): Body =>
  path === "/operator/v1/users" && body._tag === "Json" && isRecord(body.value)
    ? { _tag: "Json", value: { ...body.value, email: "{{newEmail}}" } }
    : body

const queryParameter = (parameter: unknown, document: unknown): Pairs[number] => {
  const name = String(at(parameter, "name"))
  return [name, String(sample(at(parameter, "schema"), name, document))]
}

/** The operations of the document that the service publishes. */
export const described = async (service: MeasuredService): Promise<ReadonlyArray<Operation>> => {
  const document: unknown = await (await fetch(`${service.url}/openapi.json`)).json()
  const paths = at(document, "paths")
  return Object.entries(isRecord(paths) ? paths : {}).flatMap(([path, methods]) =>
    Object.entries(isRecord(methods) ? methods : {}).map(([method, operation]) => {
      const parameters = at(operation, "parameters")
      const query = (Array.isArray(parameters) ? parameters : []).flatMap((parameter: unknown) =>
        at(parameter, "in") === "query" ? [queryParameter(parameter, document)] : []
      )
      const body = bodyOf(operation, document)
      return { method: method.toUpperCase(), path, query: body._tag === "Form" ? [] : query, body: unused(path, body) }
    })
  )
}

/** The routes that the program puts together, documented or not. */
export const routed: Effect.Effect<ReadonlyArray<Operation>> = Effect.gen(function*() {
  const page = { contentType: "", body: "" }
  const status = yield* statusRoutes(
    Redacted.make("no token"),
    yield* Ref.make(false),
    { check: Effect.void },
    Effect.succeed(page)
  )
  const routes = [...status, ...yield* Service.apiRoutes]
  return routes.flatMap(({ methods, path }) =>
    Object.keys(methods).map((method): Operation => ({ method, path, query: [], body: { _tag: "None" } }))
  )
}).pipe(Effect.provide([
  InMemory.layer(),
  Layer.succeed(DatabaseHealth, { description: "none", check: Effect.void })
]))
