/** The limit: a bare `node:http` server that parses the same form and answers the same JSON, and checks nothing. */
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { announce, connections } from "../Contender.ts"

const token = (prefix: string): string => prefix + randomBytes(32).toString("base64url")

const server = createServer((request, response) => {
  const answer = (body: object) => {
    const text = JSON.stringify(body)
    response.writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "pragma": "no-cache",
      "content-length": Buffer.byteLength(text)
    })
    response.end(text)
  }
  if (request.method === "GET") {
    const isBearer = /^bearer ./i.test(request.headers.authorization ?? "")
    return answer(isBearer ? { id: 1, first_name: "Ada", last_name: "Runner" } : {})
  }
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    if (form.get("grant_type") !== "refresh_token") return answer({})
    answer({
      token_type: "Bearer",
      access_token: token("sl_at_"),
      refresh_token: token("sl_rt_"),
      created_at: Math.floor(Date.now() / 1000),
      expires_in: 28_800
    })
  })
})

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  const refreshTokens = Array.from({ length: connections }, () => token("sl_rt_"))
  announce({ port, clientId: 1, clientSecret: token("sl_cs_"), refreshTokens, accessToken: token("sl_at_") })
})
