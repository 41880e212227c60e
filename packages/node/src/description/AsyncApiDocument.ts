/** Requests to callbacks, as OpenAPI webhooks and as an AsyncAPI document. */
import * as JSONSchema from "effect/JSONSchema"
import type * as Schema from "effect/Schema"
import * as WebhookApi from "@startlist/http/description/ProtocolApi"
import { descriptionOf, exampleOf, explainSchema } from "./openApiTexts.ts"

type Json = Readonly<Record<string, unknown>>

/** JSON schema without references. */
const schemaOf = (schema: Schema.Schema.AnyNoContext): Json => {
  const { $defs = {}, $schema: _, ...made }: Json = { ...JSONSchema.make(schema, { target: "jsonSchema7" }) }
  const definitions = new Map(Object.entries(Object($defs)))
  const inlined: Json = JSON.parse(JSON.stringify(made, (_key, value) => {
    const name = /^#\/\$defs\/(.*)$/.exec(String(Object(value).$ref))?.[1]
    return name === undefined
      ? value
      : { ...Object(definitions.get(decodeURIComponent(name))), ...value, $ref: undefined }
  }))
  return explainSchema(inlined, "") as Json
}

const event = schemaOf(WebhookApi.EventBody)
const headers = schemaOf(WebhookApi.EventHeaders)
const challenge = schemaOf(WebhookApi.Challenge)
const challengeAnswer = schemaOf(WebhookApi.ChallengeAnswer)

const parametersOf = ({ properties }: Json, place: "header" | "query") =>
  Object.keys(Object(properties)).map((name) => ({
    name,
    in: place,
    required: true,
    description: descriptionOf(name),
    schema: Object(properties)[name]
  }))

const eventText = {
  summary: "An event",
  description:
    "A registration has changed, or a user has revoked access. Check the signature, store the event, and answer 200 within two seconds: any other answer is a failed attempt. There are three attempts; webhook-id is the same in each."
}

const challengeText = {
  summary: "Validation of a callback",
  description:
    "Sent while you subscribe. Check the verify token, and answer 200 within two seconds with a JSON object that contains only hub.challenge."
}

const content = (schema: Json) => ({ "application/json": { schema, example: exampleOf(schema, {}) } })

/** For OpenAPI 3.1. */
export const webhooks = {
  event: {
    post: {
      operationId: "webhooks.event",
      ...eventText,
      parameters: parametersOf(headers, "header"),
      requestBody: { required: true, content: content(event) },
      responses: { "200": { description: "You have stored the event. The body is ignored" } }
    }
  },
  challenge: {
    get: {
      operationId: "webhooks.challenge",
      ...challengeText,
      parameters: parametersOf(challenge, "query"),
      responses: { "200": { description: "The challenge that was received", content: content(challengeAnswer) } }
    }
  }
}

/** AsyncAPI 3.0, as JSON text. */
export const asyncDocument = (): string =>
  `${
    JSON.stringify(
      {
        asyncapi: "3.0.0",
        info: {
          title: "Startlist events",
          version: "1",
          description: "Events that Startlist posts to the callback of a subscription."
        },
        defaultContentType: "application/json",
        channels: {
          callback: {
            address: "{callback_url}",
            description: "The callback of your subscription",
            parameters: { callback_url: { description: descriptionOf("callback_url") } },
            messages: { event: { $ref: "#/components/messages/event" } }
          }
        },
        operations: {
          sendEvent: {
            action: "send",
            channel: { $ref: "#/channels/callback" },
            ...eventText,
            bindings: { http: { method: "POST" } },
            messages: [{ $ref: "#/channels/callback/messages/event" }]
          }
        },
        components: {
          messages: {
            event: {
              name: "event",
              title: "An event",
              ...eventText,
              contentType: "application/json",
              headers,
              payload: event,
              examples: [{ name: "event", headers: exampleOf(headers, {}), payload: exampleOf(event, {}) }]
            }
          }
        }
      },
      null,
      2
    )
  }\n`
