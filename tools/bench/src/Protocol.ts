/** The requests to a server under test, and the expected answers. */
import type { Conversation } from "./Load.ts"

/** The message of a server when it listens. */
export interface Ready {
  readonly port: number
  readonly clientId: string
  readonly clientSecret: string
  /** One per connection, and one to check the server. */
  readonly athletes: ReadonlyArray<Athlete>
}

/** A user, and the client's tokens for the user. */
export interface Athlete {
  readonly id: number
  readonly accessToken: string
  readonly refreshToken: string
}

/** Number of parallel connections. */
export const connections = 64

/** The scope of every token, which servers check when a resource is read. */
export const scope = "read"

/** 28 800 s: eight hours, and 90 days. */
export const lifetimes = { access: 28_800, refresh: 7_776_000 }

/** The response of `GET /api/v1/athlete`. */
export const athleteBody = (id: number): string => JSON.stringify({ id, first_name: "Ada", last_name: "Runner" })

const refreshPattern = /"refresh_token":"([^"]{20,})"/
const expiryPattern = /"expires_in":(\d+)/
const accessPattern = /"access_token":"([^"]{20,})"/

/** A form for `POST /oauth/token`. */
export const refreshRequest = ({ clientId, clientSecret }: Ready, token: string) => ({
  head: "POST /oauth/token HTTP/1.1\r\ncontent-type: application/x-www-form-urlencoded\r\n",
  body: `grant_type=refresh_token&client_id=${clientId}&client_secret=${clientSecret}&refresh_token=${token}`
})

/** A request for the resource. */
export const bearerRequest = (token: string) => ({
  head: `GET /api/v1/athlete HTTP/1.1\r\nauthorization: Bearer ${token}\r\n`,
  body: ""
})

/** Each connection refreshes with the token of its last response, which must be a new one each time. */
export const refreshing = (ready: Ready): ReadonlyArray<Conversation> =>
  ready.athletes.slice(0, connections).map((athlete) => refreshingAs(ready, athlete))

const refreshingAs = (ready: Ready, { refreshToken }: Athlete): Conversation => {
  let token = refreshToken
  return {
    next: () => refreshRequest(ready, token),
    accepts: (status, body) => {
      const fresh = refreshPattern.exec(body)?.[1]
      if (status !== 200 || fresh === undefined || fresh === token) return false
      token = fresh
      const expiresIn = Number(expiryPattern.exec(body)?.[1])
      return accessPattern.test(body) && body.includes("\"token_type\":\"Bearer\"") &&
        // Some servers count from the time of the response.
        expiresIn <= lifetimes.access && expiresIn > lifetimes.access - 5
    }
  }
}

/** Each connection requests the athlete of its own token. */
export const asking = ({ athletes }: Ready): ReadonlyArray<Conversation> =>
  athletes.slice(0, connections).map(({ accessToken, id }) => {
    const request = bearerRequest(accessToken)
    const expected = athleteBody(id)
    return { next: () => request, accepts: (status, body) => status === 200 && body === expected }
  })

const send = async (port: number, { body, head }: { readonly head: string; readonly body: string }) => {
  const [line = "", ...headers] = head.trim().split("\r\n")
  const [method = "", path = ""] = line.split(" ")
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: headers.map((header): [string, string] => [header.split(": ")[0] ?? "", header.split(": ")[1] ?? ""]),
    ...(method === "POST" ? { body } : {})
  })
  return { status: response.status, body: await response.text() }
}

/**
 * Checks that a server does the measured work. Fails if it accepts a wrong secret, an unknown token or a replaced
 * token, or if new tokens do not work.
 */
export const probe = async (ready: Ready): Promise<void> => {
  const athlete = ready.athletes[connections]
  if (athlete === undefined) throw new Error("there is no athlete to try the server with")
  const conversation = refreshingAs(ready, athlete)
  const expect = async (
    what: string,
    request: { readonly head: string; readonly body: string },
    accepts: (status: number, body: string) => boolean
  ) => {
    const { body, status } = await send(ready.port, request)
    if (!accepts(status, body)) throw new Error(`${what}: ${status} ${body}`)
    return body
  }
  const refuses = (status: number) => status >= 400 && status < 500
  await expect(
    "a wrong secret",
    refreshRequest({ ...ready, clientSecret: `${ready.clientSecret}x` }, athlete.refreshToken),
    refuses
  )
  await expect("an unknown refresh token", refreshRequest(ready, `${athlete.refreshToken}x`), refuses)
  await expect("an unknown access token", bearerRequest(`${athlete.accessToken}x`), refuses)
  const lets = (status: number, body: string) => status === 200 && body === athleteBody(athlete.id)
  await expect("an access token", bearerRequest(athlete.accessToken), lets)
  const answered = await expect("a refresh", conversation.next(), conversation.accepts)
  await expect("a new access token", bearerRequest(accessPattern.exec(answered)?.[1] ?? ""), lets)
  await expect("a second refresh", conversation.next(), conversation.accepts)
  await expect("a replaced refresh token", refreshRequest(ready, athlete.refreshToken), refuses)
}
