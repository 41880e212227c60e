/** The client of the operator API for the command line, made from the API's description. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Api } from "./operator/Api.ts"
import { CommandFailed } from "./commands/Terminal.ts"
import type { Target } from "./Target.ts"

const decodeRefusal = Schema.decodeOption(Schema.parseJson(Schema.Struct({ message: Schema.String })))

/** Code of a network error, such as ` (ECONNREFUSED)`. `fetch` wraps the error that has it. */
const codeOf = ({ cause }: HttpClientError.HttpClientError): string => {
  const reason = cause instanceof Error && !("code" in cause) ? cause.cause : cause
  return reason instanceof Error && "code" in reason ? ` (${String(reason.code)})` : ""
}

const withinLimit = (url: string) =>
  Effect.timeoutFail({
    duration: "30 seconds",
    onTimeout: () => new CommandFailed({ message: `${url} did not answer within 30 seconds` })
  })

type Limit = ReturnType<typeof withinLimit>

/** A 2xx response. Any other status fails with the message in the body. */
const accept = (url: string, response: HttpClientResponse.HttpClientResponse) =>
  response.status >= 200 && response.status < 300
    ? Effect.succeed(response)
    : Effect.flatMap(response.text, (text) =>
      new CommandFailed({
        message: Option.match(decodeRefusal(text), {
          onNone: () => `${url} answered with status ${response.status}`,
          onSome: ({ message }) => message
        })
      }))

/** Adds the token and a timeout to requests, and converts failures to messages for people. */
const transport = ({ token, url }: Target, limit: Limit) => (client: HttpClient.HttpClient) =>
  client.pipe(
    HttpClient.mapRequest(HttpClientRequest.bearerToken(token)),
    HttpClient.transform((sent) =>
      Effect.flatMap(sent, (response) => accept(url, response)).pipe(
        Effect.catchTags({
          RequestError: (error) =>
            new CommandFailed({ message: `${url} does not answer${codeOf(error)}: is the service running there?` }),
          ResponseError: (error) =>
            new CommandFailed({
              message: `${url} closed the connection before the end of its response${codeOf(error)}`
            })
        }),
        limit,
        Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
      )
    )
  )

const make = (target: Target, limit: Limit) =>
  Effect.flatMap(HttpClient.HttpClient, (http) =>
    HttpApiClient.makeWith(Api, {
      baseUrl: target.url,
      httpClient: transport(target, limit)(http),
      transformResponse: (decoded) =>
        decoded.pipe(
          Effect.mapError(() => new CommandFailed({ message: `${target.url} is not a Startlist service` })),
          limit
        )
    }))

/** The client of the operator API at this target. */
export const connect = (target: Target) => Effect.provide(make(target, withinLimit(target.url)), FetchHttpClient.layer)

/** A client of the operator API. */
export type Client = Effect.Effect.Success<ReturnType<typeof connect>>

/**
 * Backs up the embedded database. Waits without a timeout: `fetch` always has one, of 5 minutes. TCP keep-alive detects
 * a service that is gone.
 */
export const backUp = (target: Target) =>
  Effect.flatMap(
    Effect.promise(() => import("@effect/platform-node/NodeHttpClient")),
    ({ layerWithoutAgent, makeAgentLayer }) =>
      Effect.flatMap(make(target, identity), ({ installation }) => installation.backUp()).pipe(
        Effect.provide(Layer.provide(layerWithoutAgent, makeAgentLayer({ keepAlive: true })))
      )
  )
