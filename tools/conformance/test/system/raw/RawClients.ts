/**
 * Requests of client libraries in other languages, byte for byte. They follow the sources of the named version and of its
 * HTTP library. The tests fill in the host, the credentials, the code or token, and the length of the body.
 */
import { redirectUri } from "@startlist/test-support/Consent"

/** The values that the tests fill in. */
export interface Values {
  readonly host: string
  readonly clientId: string
  readonly clientSecret: string
  readonly code: string
  readonly accessToken: string
  readonly refreshToken: string
}

export interface RawClient {
  readonly client: string
  readonly version: string
  readonly language: string
  /** The request and its peculiarity. */
  readonly does: string
  readonly request: (values: Values) => string
  /** The answer and its effect. */
  readonly expected: string
}

const message = (lines: ReadonlyArray<string>, body = ""): string => `${lines.join("\r\n")}\r\n\r\n${body}`
const form = "application/x-www-form-urlencoded"
const basic = ({ clientId, clientSecret }: Values): string => btoa(`${clientId}:${clientSecret}`)
const callback = encodeURIComponent(redirectUri)

const iddawc: RawClient = {
  client: "libiddawc",
  version: "1.1.9",
  language: "C",
  does: "exchanges a code: Basic by default, with `client_id` beside it",
  request: (values) => {
    const body = `grant_type=authorization_code&code=${values.code}&redirect_uri=${callback}` +
      `&client_id=${values.clientId}&scope=read`
    return message([
      "POST /oauth/token HTTP/1.1",
      `Host: ${values.host}`,
      `Authorization: Basic ${basic(values)}`,
      "User-Agent: Iddawc/1.1.9",
      "Accept: application/json",
      `Content-Length: ${body.length}`,
      `Content-Type: ${form}`
    ], body)
  },
  expected: "200, tokens"
}

const socialCore = (does: string, secretOf: (values: Values) => string, expected: string): RawClient => ({
  client: "python-social-auth (social-core)",
  version: "5.1.0",
  language: "Python",
  does,
  request: (values) => {
    const parameters = `token=${values.accessToken}&client_id=${values.clientId}&client_secret=${secretOf(values)}`
    return message([
      `POST /oauth/revoke?${parameters} HTTP/1.1`,
      `Host: ${values.host}`,
      "User-Agent: social-auth-5.1.0",
      "Accept-Encoding: gzip, deflate",
      "Accept: */*",
      "Connection: keep-alive",
      `Content-Length: ${parameters.length}`,
      `Content-Type: ${form}`
    ], parameters)
  },
  expected
})

const requests: RawClient = {
  client: "requests, `json={}`",
  version: "2.34.2",
  language: "Python",
  does: "refreshes by the query, with an empty JSON object as body",
  request: (values) =>
    message([
      `POST /oauth/token?client_id=${values.clientId}&client_secret=${values.clientSecret}` +
      `&grant_type=refresh_token&refresh_token=${values.refreshToken} HTTP/1.1`,
      `Host: ${values.host}`,
      "User-Agent: python-requests/2.34.2",
      "Accept-Encoding: gzip, deflate",
      "Accept: */*",
      "Connection: keep-alive",
      "Content-Length: 2",
      "Content-Type: application/json"
    ], "{}"),
  expected: "200, tokens"
}

const go: RawClient = {
  client: "golang.org/x/oauth2",
  version: "0.35.0",
  language: "Go",
  does: "exchanges a code: Basic at the first attempt",
  request: (values) => {
    const body = `code=${values.code}&grant_type=authorization_code&redirect_uri=${callback}`
    return message([
      "POST /oauth/token HTTP/1.1",
      `Host: ${values.host}`,
      "User-Agent: Go-http-client/1.1",
      `Content-Length: ${body.length}`,
      `Authorization: Basic ${basic(values)}`,
      `Content-Type: ${form}`,
      "Accept-Encoding: gzip"
    ], body)
  },
  expected: "200, tokens"
}

const league = { client: "league/oauth2-client", version: "2.9.0", language: "PHP" }

const leagueScopes: RawClient = {
  ...league,
  does: "sends the browser to `/oauth/authorize`: commas between scopes by default",
  request: ({ clientId, host }) =>
    message([
      `GET /oauth/authorize?state=3d7b1f2c&scope=read%2Cwrite&response_type=code&approval_prompt=auto` +
      `&redirect_uri=${callback}&client_id=${clientId} HTTP/1.1`,
      `Host: ${host}`,
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
      "Accept-Language: en-US,en;q=0.5",
      "Accept-Encoding: gzip, deflate, br, zstd",
      "Connection: keep-alive"
    ]),
  expected: "303, `invalid_scope`: read,write is not a known scope. Separate scopes with spaces."
}

const leagueResource: RawClient = {
  ...league,
  does: "asks for the resource owner with a dead token: looks only at `error` in the body",
  request: ({ host }) =>
    message([
      "GET /api/v1/athlete HTTP/1.1",
      `Host: ${host}`,
      "User-Agent: GuzzleHttp/7",
      "Authorization: Bearer sl_at_1_1_ended"
    ]),
  expected: "401, `invalid_token`: the access token is not valid"
}

const scribe: RawClient = {
  client: "ScribeJava, `revokeToken`",
  version: "8.3.3",
  language: "Java",
  does: "revokes: Basic by default, the token in the form",
  request: (values) => {
    const body = `token=${values.accessToken}&token_type_hint=access_token`
    return message([
      "POST /oauth/revoke HTTP/1.1",
      `Authorization: Basic ${basic(values)}`,
      `Content-Type: ${form}`,
      "User-Agent: Java/17.0.15",
      `Host: ${values.host}`,
      "Accept: text/html, image/gif, image/jpeg, */*; q=0.2",
      "Connection: keep-alive",
      `Content-Length: ${body.length}`
    ], body)
  },
  expected: "200, revoked"
}

const ruby = (does: string, credentialsOf: (values: Values) => string, expected: string): RawClient => ({
  client: "oauth2, `AccessToken#revoke`",
  version: "2.0.25",
  language: "Ruby",
  does,
  request: (values) =>
    message([
      `POST /oauth/revoke?${credentialsOf(values)}token=${values.accessToken}&token_type_hint=access_token HTTP/1.1`,
      "User-Agent: Faraday v2.14.0",
      "Content-Length: 0",
      "Accept-Encoding: gzip;q=1.0,deflate;q=0.6,identity;q=0.3",
      "Accept: */*",
      `Content-Type: ${form}`,
      `Host: ${values.host}`
    ]),
  expected
})

export const rawClients: ReadonlyArray<RawClient> = [
  iddawc,
  go,
  requests,
  socialCore(
    "revokes with `params` and `data` alike: each parameter in query and body",
    ({ clientSecret }) => clientSecret,
    "200, revoked"
  ),
  socialCore("the same with a wrong secret: takes any 200 for success", () => "wrong", "401, not revoked"),
  scribe,
  ruby(
    "revokes by the query with an empty form, the credentials as extra parameters",
    ({ clientId, clientSecret }) => `client_id=${clientId}&client_secret=${clientSecret}&`,
    "200, revoked"
  ),
  ruby("the same by default: without credentials", () => "", "401, not revoked"),
  leagueScopes,
  leagueResource
]
