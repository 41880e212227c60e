/**
 * The limits: a server that parses the same form and sends the same JSON without any check. Directly on `node:http`, or
 * with the argument `fiber`, behind the binding of `@startlist/http` with one fiber per request.
 */
import * as HttpConfig from "@startlist/http/HttpConfig"
import * as NodeHttp from "@startlist/http/NodeHttp"
import * as Effect from "effect/Effect"
import type { RequestListener } from "node:http"
import { athleteBody, lifetimes } from "../Protocol.ts"
import * as Listening from "./Listening.ts"

const fixture = Listening.makeFixture()
const athletes = new Map(fixture.athletes.map(({ accessToken, id }) => [accessToken, athleteBody(id)]))

const show = (headers: Listening.Headers): string => athletes.get(Listening.bearerOf({ headers }) ?? "") ?? "{}"

const issue = (body: string): string => {
  const form = new URLSearchParams(body)
  return JSON.stringify({
    token_type: "Bearer",
    access_token: Listening.makeToken(),
    refresh_token: Listening.makeToken(),
    created_at: Math.floor(Date.now() / 1000),
    expires_in: form.get("grant_type") === "refresh_token" ? lifetimes.access : 0
  })
}

const bare: RequestListener = (request, response) => {
  if (request.method === "GET") return Listening.sendJson(response, 200, show(request.headers))
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => Listening.sendJson(response, 200, issue(Buffer.concat(chunks).toString())))
}

const utf8 = new TextDecoder()
const jsonHeaders = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" }

const inFibers: Effect.Effect<RequestListener> = Effect.provide(
  NodeHttp.listener(({ body, headers, method }) =>
    Effect.sync(() => ({
      status: 200,
      headers: jsonHeaders,
      body: method === "GET" ? show(headers) : issue(utf8.decode(body))
    }))
  ),
  HttpConfig.layerLocal
)

Listening.listen(process.argv[2] === "fiber" ? Effect.runSync(inFibers) : bare, fixture)
