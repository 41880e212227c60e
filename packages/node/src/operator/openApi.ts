/** The description of the operator API, made of its operations. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { ErrorBody } from "@startlist/http/description/ProtocolApi"
import type { Group, Operation } from "./Operation.ts"
import { groups, operationsOf } from "./operations.ts"
import { type Status, statuses } from "./OperatorErrors.ts"

/** Gives a schema another status than 200, with the same identifier. */
const under = (status: number, schema: Schema.Schema.AnyNoContext) =>
  schema.annotations(HttpApiSchema.annotations({
    status,
    ...Option.match(SchemaAST.getIdentifierAnnotation(schema.ast), {
      onNone: () => ({}),
      onSome: (identifier) => ({ identifier })
    })
  }))

const errors = new Map<Status, Schema.Schema.AnyNoContext>(
  Object.entries(statuses).map(([identifier, [status, description]]) => [
    status,
    ErrorBody.annotations(HttpApiSchema.annotations({ status, identifier, description }))
  ])
)

/** The statuses of errors that every operation has. */
const common = [401, 429, 503] as const

type Endpoint = HttpApiEndpoint.HttpApiEndpoint.AnyWithProps

const endpointOf = (name: string, operation: Operation, isWithoutDatabase = false): Endpoint => {
  const { bodyName, description, inPath, method, others, output, path, refuses = [], status, summary } = operation
  const statuses = [...common.filter((one) => !(isWithoutDatabase && one === 503)), ...refuses]
  const described = HttpApiEndpoint.make(method)(name, `/${path.slice(1).replaceAll(/\{(\w+)\}/g, ":$1")}`)
    .addSuccess(status === 204 ? HttpApiSchema.NoContent : under(status, output))
    .annotate(OpenApi.Summary, summary)
    .annotate(OpenApi.Description, description)
  // Safe: the steps below only add schemas, whose types nobody reads.
  const withErrors = statuses.flatMap((one) => errors.get(one) ?? [])
    .reduce((made, error) => made.addError(error) as Endpoint, described as unknown as Endpoint)
  const withPath = Object.keys(inPath).length === 0 ? withErrors : withErrors.setPath(Schema.Struct(inPath)) as Endpoint
  if (Object.keys(others).length === 0) return withPath
  const schema = Schema.Struct(others).annotations(bodyName === undefined ? {} : { identifier: bodyName })
  return (method === "GET" ? withPath.setUrlParams(schema) : withPath.setPayload(schema)) as Endpoint
}

const groupOf = (name: string, group: Group) =>
  operationsOf(group).reduce(
    (made, [operationName, operation]) => made.add(endpointOf(operationName, operation, group.isWithoutDatabase)),
    HttpApiGroup.make(name) as unknown as HttpApiGroup.HttpApiGroup<string, Endpoint>
  )

/** The operator API as an `HttpApi`, for its description only. */
export const Api = Object.entries(groups).reduce(
  (api, [name, group]) => api.add(groupOf(name, group)),
  HttpApi.make("operator") as unknown as HttpApi.HttpApi<"operator", HttpApiGroup.HttpApiGroup.Any>
)
