/** The operator API for programs in TypeScript: its description, and a typed client made from it. */
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as Redacted from "effect/Redacted"
import { Api } from "./operator/Api.ts"

export { Api } from "./operator/Api.ts"

/**
 * A client of the service at `url` (`https://host:port`), with its operator token. Each operation is a method of its
 * group and returns the decoded response; refusals are typed errors. Needs an `HttpClient`.
 */
export const client = (options: { readonly url: string; readonly token: Redacted.Redacted<string> }) =>
  HttpApiClient.make(Api, {
    baseUrl: options.url,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(options.token))
  })
