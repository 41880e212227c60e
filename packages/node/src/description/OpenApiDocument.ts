/** The service's whole API as one OpenAPI document. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { ProtocolApi } from "@startlist/http/description/ProtocolApi"
import { explain } from "./openApiTexts.ts"
import { Api as OperatorApi } from "../operator/openApi.ts"
import { asyncDocument, webhooks } from "./AsyncApiDocument.ts"

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
export const Api = HttpApi.make("startlist")
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
