/** The client of the operator API for the command line, made from the API's description. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Api } from "./operator/Api.ts"
import { CommandFailed } from "./CommandFailed.ts"
import type { Target } from "./Target.ts"

const decodeRefusal = Schema.decodeOption(Schema.parseJson(Schema.Struct({ message: Schema.String })))

/** Code of a network error, such as ` (ECONNREFUSED)`. */
const codeOf = ({ cause }: HttpClientError.HttpClientError): string => {
  const reason = cause instanceof Error ? cause.cause : undefined
  return reason instanceof Error && "code" in reason ? ` (${String(reason.code)})` : ""
}

const withinLimit = (url: string) =>
  Effect.timeoutFail({
    duration: "30 seconds",
    onTimeout: () => new CommandFailed({ message: `${url} did not answer within 30 seconds` })
  })

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
const transport = ({ token, url }: Target) => (client: HttpClient.HttpClient) =>
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
        withinLimit(url),
        Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
      )
    )
  )

/** The client of the operator API at this target. */
export const connect = (target: Target) =>
  Effect.flatMap(HttpClient.HttpClient, (http) =>
    HttpApiClient.makeWith(Api, {
      baseUrl: target.url,
      httpClient: transport(target)(http),
      transformResponse: (decoded) =>
        decoded.pipe(
          Effect.mapError(() => new CommandFailed({ message: `${target.url} is not a Startlist service` })),
          withinLimit(target.url)
        )
    })).pipe(Effect.provide(FetchHttpClient.layer))

/** A client of the operator API. */
export type Client = Effect.Effect.Success<ReturnType<typeof connect>>
