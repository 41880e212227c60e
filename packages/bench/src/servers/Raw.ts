/** The limit: a bare `node:http` server that parses the same form and answers the same JSON, and checks nothing. */
import { athleteBody, lifetimes } from "../Protocol.ts"
import * as Listening from "./Listening.ts"

const fixture = Listening.makeFixture()
const athletes = new Map(fixture.athletes.map(({ accessToken, id }) => [accessToken, athleteBody(id)]))

Listening.listen((request, response) => {
  if (request.method === "GET") {
    return Listening.sendJson(response, 200, athletes.get(Listening.bearerOf(request) ?? "") ?? "{}")
  }
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    Listening.sendJson(
      response,
      200,
      JSON.stringify({
        token_type: "Bearer",
        access_token: Listening.makeToken(),
        refresh_token: Listening.makeToken(),
        created_at: Math.floor(Date.now() / 1000),
        expires_in: form.get("grant_type") === "refresh_token" ? lifetimes.access : 0
      })
    )
  })
}, fixture)
