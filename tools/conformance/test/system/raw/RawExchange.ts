/** Sends the bytes of a request over a socket, and returns the answer and its effect. */
import { athleteStatus, authorizeUrl, consent, obtainTokens } from "@startlist/test-support/Consent"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import { connect } from "node:net"
import type { Service } from "../support/Sites.ts"
import type { RawClient, Values } from "./RawClients.ts"

interface Answer {
  readonly status: number
  readonly location: URL | undefined
  readonly body: Readonly<Record<string, unknown>>
}

/** One complete answer with `Content-Length`; the connection may stay open, as the client asked. */
const sendBytes = (host: string, request: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(`http://${host}`)
    const socket = connect(Number(port), hostname, () => socket.write(request, "latin1"))
    let received = ""
    socket.setEncoding("latin1").on("error", reject).on("close", () => reject(new Error(`no answer: ${received}`)))
    socket.on("data", (chunk: string) => {
      received += chunk
      const [head = "", body] = received.split("\r\n\r\n", 2)
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? "0")
      if (body === undefined || body.length < length) return
      const location = /^location: (.*)$/im.exec(head)?.[1]
      resolve({
        status: Number(head.slice(9, 12)),
        location: location === undefined ? undefined : new URL(location),
        body: body.startsWith("{") ? JSON.parse(body) : {}
      })
      socket.destroy()
    })
  })

const errorOf = ({ body, location }: Answer): string => {
  const error = location?.searchParams.get("error") ?? body["error"]
  const description = location?.searchParams.get("error_description") ?? body["error_description"]
  return error === undefined ? "" : `, \`${String(error)}\`: ${String(description)}`
}

/** Checks that tokens give access to the API, and that a revocation ends it. */
const effectOf = async (service: Service, request: string, { body }: Answer, values: Values): Promise<string> => {
  if (request.startsWith("POST /oauth/revoke")) {
    return (await athleteStatus(service, values.accessToken)) === 401 ? ", revoked" : ", not revoked"
  }
  const token = body["access_token"]
  return typeof token === "string" && (await athleteStatus(service, token)) === 200 ? ", tokens" : ""
}

/** The status, the error if there is one, and the effect, as seen from outside. */
export const observe = async (service: Service, { request }: RawClient): Promise<string> => {
  const [owner, athlete] = await Promise.all([createUser(service, "platform"), createUser(service, "athlete")])
  const client = await createApplication(service, owner)
  const tokens = await obtainTokens(service, client, athlete)
  const back = await consent(authorizeUrl(service, client), athlete)
  const values = {
    host: new URL(service.url).host,
    clientId: String(client.client_id),
    clientSecret: client.client_secret,
    code: back.searchParams.get("code") ?? "",
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token
  }
  const bytes = request(values)
  const answer = await sendBytes(values.host, bytes)
  return `${answer.status}${errorOf(answer)}${await effectOf(service, bytes, answer, values)}`
}
