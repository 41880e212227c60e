/** `@node-oauth/oauth2-server`. Arguments: `bare` (on `node:http`) or `express`; the database, or none: in memory. */
import OAuth2Server from "@node-oauth/oauth2-server"
import express from "express"
import type { RequestListener } from "node:http"
import { lifetimes, scope } from "../Protocol.ts"
import * as Listening from "./Listening.ts"
import * as NodeOauthModel from "./NodeOauthModel.ts"
import * as NodeOauthStores from "./NodeOauthStores.ts"

const [, , kind, url] = process.argv
const fixture = Listening.makeFixture()
const stores = url === undefined
  ? await NodeOauthStores.inMemory(fixture)
  : await NodeOauthStores.inPostgres(fixture, url)

const server = new OAuth2Server({
  model: NodeOauthModel.make(stores.tokens),
  accessTokenLifetime: lifetimes.access,
  refreshTokenLifetime: lifetimes.refresh
})

/** Its responses are plain data. */
interface Answer {
  readonly status: number
  readonly body: object
}

const headersOf = (request: Parameters<RequestListener>[0]): Record<string, string> =>
  Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))

const token = async (request: Parameters<RequestListener>[0], body: object): Promise<Answer> => {
  const response = new OAuth2Server.Response()
  try {
    await server.token(
      new OAuth2Server.Request({ method: "POST", query: {}, headers: headersOf(request), body }),
      response
    )
    return { status: 200, body: response.body }
  } catch (error) {
    return refusal(error)
  }
}

const refusal = (error: unknown): Answer => {
  if (error instanceof OAuth2Server.OAuthError) return { status: error.code, body: { error: error.name } }
  throw error
}

const athlete = async (request: Parameters<RequestListener>[0]): Promise<Answer | string> => {
  try {
    const { user } = await server.authenticate(
      new OAuth2Server.Request({ method: "GET", query: {}, headers: headersOf(request) }),
      new OAuth2Server.Response(),
      { scope: [scope] }
    )
    return await stores.athlete(user["id"]) ?? { status: 401, body: {} }
  } catch (error) {
    return refusal(error)
  }
}

const bare: RequestListener = (request, response) => {
  const send = (answer: Answer | string) =>
    typeof answer === "string"
      ? Listening.sendJson(response, 200, answer)
      : Listening.sendJson(response, answer.status, JSON.stringify(answer.body))
  const answered = request.method === "GET"
    ? athlete(request)
    : Listening.readForm(request).then((form) => token(request, form))
  answered.then(send, (error: unknown) => {
    console.error(error)
    send({ status: 500, body: {} })
  })
}

const onExpress = (): RequestListener => {
  const app = express()
  app.post("/oauth/token", express.urlencoded({ extended: false }), async (request, response) => {
    const { body, status } = await token(request, request.body)
    response.status(status).set("cache-control", "no-store").json(body)
  })
  app.get("/api/v1/athlete", async (request, response) => {
    const answer = await athlete(request)
    if (typeof answer === "string") response.type("json").send(answer)
    else response.status(answer.status).json(answer.body)
  })
  return app
}

Listening.listen(kind === "express" ? onExpress() : bare, fixture)
