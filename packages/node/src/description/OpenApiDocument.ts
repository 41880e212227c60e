/**
 * The service's whole API as one OpenAPI document: the documented interface, and the operator API, made of its
 * operations.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { ErrorBody, ProtocolApi } from "@startlist/http/description/ProtocolApi"
import type { Group, Operation } from "../operator/Operation.ts"
import { groups, operationsOf } from "../operator/operations.ts"
import { type Status, statuses } from "../operator/OperatorErrors.ts"
import { explain } from "./openApiTexts.ts"
import { asyncDocument, webhooks } from "./AsyncApiDocument.ts"

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
export const OperatorApi = Object.entries(groups).reduce(
  (api, [name, group]) => api.add(groupOf(name, group)),
  HttpApi.make("operator") as unknown as HttpApi.HttpApi<"operator", HttpApiGroup.HttpApiGroup.Any>
)

const Fields = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/** The parts of a document that are changed below. */
const Document = Schema.Struct({
  components: Schema.Struct({ schemas: Fields }),
  tags: Schema.Array(Schema.Struct({ name: Schema.String })),
  paths: Schema.Record({
    key: Schema.String,
    value: Schema.Record({
      key: Schema.String,
      value: Schema.Struct({ responses: Fields, requestBody: Schema.optional(Fields) }, Fields)
    })
  })
}, Fields)

const securitySchemes = {
  client: {
    type: "http",
    scheme: "basic",
    description: "client_id and client_secret. You can also send them as parameters"
  },
  accessToken: { type: "http", scheme: "bearer", description: "The access token of a user" },
  operatorToken: { type: "http", scheme: "bearer", description: "OPERATOR_TOKEN" }
}

const securityOf = (path: string): ReadonlyArray<Readonly<Record<string, ReadonlyArray<never>>>> => {
  if (path.startsWith("/operator/")) return [{ operatorToken: [] }]
  if (path.startsWith("/api/")) return [{ accessToken: [] }]
  if (path === "/metrics") return [{ operatorToken: [] }, {}]
  return /^\/oauth\/(?:token|revoke|introspect)$/.test(path) ? [{ client: [] }, {}] : []
}

const decodeError = JSON.stringify({ $ref: "#/components/schemas/HttpApiDecodeError" })

/** The responses without the framework's error body, which the protocol's endpoints never send. */
const withoutDecodeError = (responses: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(responses).flatMap(([status, response]) => {
      const text = JSON.stringify(response).replace(`${decodeError},`, "")
      return text.includes(decodeError) ? [] : [[status, withoutChoice(text)]]
    })
  )

/** `effect/Schema` gives each `Unknown` the same `$id`, but identifiers must be unique in a document. */
const withoutIds = (document: Record<string, unknown>): unknown =>
  JSON.parse(JSON.stringify(document, (key, value) => key === "$id" ? undefined : value))

/** The schema itself in place of a choice between one schema. */
const withoutChoice = (text: string): unknown =>
  JSON.parse(text, (_, value) => {
    const { anyOf, ...rest } = Object(value)
    return Array.isArray(anyOf) && anyOf.length === 1 ? { ...rest, ...anyOf[0] } : value
  })

const apiError = { "application/json": { schema: { $ref: "#/components/schemas/ApiError" } } }

/** Refusals that precede the framework's handling of a body. */
const unreadable = {
  "413": { description: "The body is larger than 64 KiB", content: apiError },
  "415": { description: "The content type is not application/json", content: apiError }
}

/** What the operations of each group are for. */
const groupTexts: Readonly<Record<string, string>> = {
  oauth: "Applications ask users for access, get tokens and give them back.",
  resources: "Applications read data of users and get events.",
  service: "Whether the service works, and descriptions of its API.",
  applications: "Operators register applications, and manage their secrets and access.",
  users: "Operators create users, help them to sign in, and answer requests about their data.",
  registrations:
    "The platform stores registrations here. Each change is an event for the applications that it concerns.",
  subscriptions: "Operators see, pause and end the webhook subscriptions of applications.",
  deliveries: "Operators see the deliveries of events, repeat and cancel them.",
  audit: "Operators see who did what.",
  installation: "Operators make backups."
}

/** A user who cannot be sent back gets a page. The framework describes only JSON for this status. */
const noWayBack = {
  "400": {
    description: "A page for the user: the client or its redirect URI is unknown, so the user cannot be sent back",
    content: { "text/html; charset=utf-8": { schema: { type: "string" } } }
  }
}

/**
 * Adds what the framework does not know: the credentials of each path, that forms are optional beside queries, and the
 * error body that replaces the framework's own.
 */
const asServed = (document: Record<string, unknown>): Record<string, unknown> => {
  const { components, paths, tags, ...rest } = Schema.decodeUnknownSync(Document)(withoutIds(document))
  const { Issue: _issue, PropertyKey: _key, ...schemas } = components.schemas
  const isProtocol = (path: string) => !path.startsWith("/operator/")
  const describePath = (path: string, methods: (typeof paths)[string]) =>
    Object.fromEntries(
      Object.entries(methods).map(([method, { requestBody, responses, ...operation }]) => [method, {
        ...operation,
        security: securityOf(path),
        ...(requestBody === undefined ? {} : {
          requestBody: path.startsWith("/oauth/") ? { ...requestBody, required: false } : requestBody
        }),
        responses: isProtocol(path)
          ? { ...withoutDecodeError(responses), ...(path === "/oauth/authorize" ? noWayBack : {}) }
          : { ...responses, ...(requestBody === undefined ? {} : unreadable) }
      }])
    )
  return {
    ...rest,
    servers: [{ url: "/", description: "The service that serves this document" }],
    tags: tags.map(({ name }) => ({ name, description: groupTexts[name] })),
    components: { schemas, securitySchemes },
    webhooks,
    paths: Object.fromEntries(Object.entries(paths).map(([path, methods]) => [path, describePath(path, methods)]))
  }
}

const describeAsServed = (document: Record<string, unknown>): Record<string, unknown> => ({
  ...explain(asServed(document))
})

/** The documented interface and the operator API. */
const Api = HttpApi.make("startlist")
  .addHttpApi(ProtocolApi)
  .addHttpApi(OperatorApi)
  .annotate(OpenApi.Title, "Startlist")
  .annotate(OpenApi.Version, "1")
  .annotate(
    OpenApi.Description,
    "Applications act for the users of a sports registration platform, with their consent, and get events when something changes."
  )
  .annotate(OpenApi.License, { name: "MIT", url: "https://opensource.org/license/mit" })
  .annotate(OpenApi.Transform, describeAsServed)

/** The requests to callbacks, as an AsyncAPI document in JSON text. */
export { asyncDocument }

/** The document as JSON text. */
export const document = (): string => `${JSON.stringify(OpenApi.fromApi(Api), null, 2)}\n`
