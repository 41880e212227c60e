/** The description of the control plane, from the schemas of its bodies. */
import * as JSONSchema from "effect/JSONSchema"
import type * as Schema from "effect/Schema"
import * as Bodies from "./ControlBodies.ts"

interface Described {
  readonly summary: string
  readonly status: number
  readonly body?: Schema.Schema.All
}

const operations = {
  "GET /fake": { summary: "Shows the address, the time, the application and the users", status: 200 },
  "GET /fake/openapi.json": { summary: "This document", status: 200 },
  "POST /fake/consent": {
    summary: "Decides about an authorization URL as a user. Returns the redirect of the browser",
    status: 200,
    body: Bodies.Consent
  },
  "POST /fake/time": {
    summary: "Moves the time forward, and delivers events that become due",
    status: 200,
    body: Bodies.Time
  },
  "POST /fake/responses": { summary: "Plans faults of the next responses", status: 204, body: Bodies.Responses },
  "POST /fake/deliveries": { summary: "Plans faults of the next events", status: 204, body: Bodies.Deliveries },
  "GET /fake/deliveries": {
    summary: "Waits until all due events are delivered, and lists all deliveries",
    status: 200
  },
  "DELETE /fake/faults": { summary: "Removes faults that have not happened yet", status: 204 },
  "POST /fake/registrations": { summary: "Creates a registration", status: 201, body: Bodies.Registration },
  "PATCH /fake/registrations/{id}": {
    summary: "Changes a registration, which causes an event",
    status: 204,
    body: Bodies.Updates
  },
  "POST /fake/revocations": {
    summary: "Revokes the access on behalf of a user, which causes an event",
    status: 204,
    body: Bodies.Revocation
  },
  "POST /fake/users": { summary: "Creates a user", status: 201, body: Bodies.User },
  "POST /fake/applications": { summary: "Creates an application", status: 201, body: Bodies.Application },
  "GET /fake/requests": { summary: "Lists the requests of the application with their responses", status: 200 },
  "DELETE /fake/requests": { summary: "Removes the recorded requests of the application", status: 204 }
} as const satisfies Readonly<Record<string, Described>>

export type Operation = keyof typeof operations

/** The document of a fake that listens at `url` (OpenAPI 3.1). */
export const document = (url: string) => {
  const schemas: Record<string, JSONSchema.JsonSchema7> = {}
  const paths: Record<string, Record<string, object>> = {}
  const described: Readonly<Record<string, Described>> = operations
  for (const [name, { body, status, summary }] of Object.entries(described)) {
    const [method = "", path = ""] = name.split(" ")
    const schema = body === undefined ? undefined : JSONSchema.fromAST(body.ast, {
      definitions: schemas,
      definitionPath: "#/components/schemas/",
      target: "openApi3.1"
    })
    const parameter = { name: "id", in: "path", required: true, schema: { type: "integer" } }
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: {
        summary,
        ...(path.includes("{id}") ? { parameters: [parameter] } : {}),
        ...(schema === undefined
          ? {}
          : { requestBody: { required: true, content: { "application/json": { schema } } } }),
        responses: {
          [status]: { description: "Done" },
          ...(schema === undefined ? {} : {
            400: { description: "The body does not match its schema" },
            422: { description: "The request cannot be done. The message names the field" }
          })
        }
      }
    }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Controls of a fake Startlist", version: "1" },
    servers: [{ url }],
    paths,
    components: { schemas }
  }
}
