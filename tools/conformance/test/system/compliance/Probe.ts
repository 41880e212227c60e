/** Requests of the checks to the running service, and browsers without a screen. */
import { expect } from "@effect/vitest"
import { Browser, formsOf, type Page, signIn, theForm } from "@startlist/test-support/Browser"
import { decide } from "@startlist/test-support/Consent"
import { type Client, createApplication, createUser, type Person } from "@startlist/test-support/Operator"
import type { Clock } from "../support/Clock.ts"
import type { Profile, Service } from "../support/Sites.ts"

/** The public origin. The tests assume a proxy in front of the service that speaks TLS. */
export const issuer = "https://id.example.test"

/** The redirect URI of every application. Nothing listens there: the browser stops before it. */
export const callback = "https://client.example.test/callback"
export const callbackWithQuery = "https://client.example.test/callback?tenant=7"
export const loopbackCallback = "http://127.0.0.1:7999/callback"

export type Pairs = Readonly<Record<string, string | undefined>> | ReadonlyArray<readonly [string, string]>

/** Encodes a form. Leaves out values that are `undefined`. */
export const encode = (pairs: Pairs): string => {
  const list = Array.isArray(pairs) ? pairs : Object.entries(pairs)
  return new URLSearchParams(list.flatMap(([name, value]) => value === undefined ? [] : [[name, value]])).toString()
}

/** Parameters that differ from the usual ones; an `undefined` removes one. */
export type Changes = Readonly<Record<string, string | undefined>>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The JSON of the body, or an empty object. */
  readonly body: Readonly<Record<string, unknown>>
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

const parse = (text: string): Answer["body"] => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

export const credentials = ({ client_id, client_secret }: Client) => ({ client_id: String(client_id), client_secret })

export const basic = ({ client_id, client_secret }: Client) => ({
  authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString("base64")}`
})

/** The target of a redirect. */
export const locationOf = (answer: { readonly headers: Headers; readonly status: number }): URL => {
  const location = answer.headers.get("location")
  if (location === null) throw new Error(`no redirect, but ${answer.status}`)
  return new URL(location, "http://relative.example.test")
}

/** A request without the credentials and identifiers, which are different in each run. */
const inputOf = (path: string, { body, headers, method }: RequestInit): string =>
  [method, path, body, ...new Headers(headers)].join(" ")
    .replaceAll(/\bsl_(\w\w)_[\w-]+/g, "sl_$1")
    .replaceAll(/(?<=authorization,Basic )\S+/g, "…")
    .replaceAll(/\b\d+\b/g, "N")

/** Unknown parameters that repeat, and known ones in another order: the second input of a check that has one. */
const disguised = (query: string): string => `resource=a&resource=b&${query.split("&").reverse().join("&")}&audience=c`

export class Probe {
  readonly profile: Profile
  readonly service: Service
  readonly clock: Clock
  private readonly people = new Map<string, Promise<Person>>()
  private readonly browsers = new Map<Person, Browser>()
  private readonly inputs = new Map<string, Set<string>>()
  /** Whether it acts like another client: with Basic, unknown parameters, and another order of the known ones. */
  isDisguised = false

  constructor(profile: Profile, service: Service, clock: Clock) {
    this.profile = profile
    this.service = service
    this.clock = clock
  }

  /** The user with this name and role. Made at the first call. */
  user(role: "platform" | "athlete" | "organizer", name: string = role): Promise<Person> {
    const known = this.people.get(name)
    if (known !== undefined) return known
    const made = createUser(this.service, role)
    this.people.set(name, made)
    return made
  }

  /** A new application. */
  async application(
    redirectUris: ReadonlyArray<string> = [callback, callbackWithQuery, loopbackCallback],
    settings: Readonly<Record<string, unknown>> = {}
  ): Promise<Client> {
    return createApplication(this.service, await this.user("platform"), redirectUris, settings)
  }

  /** Remembers an input of the present check. */
  note(path: string, init: RequestInit = {}): void {
    const [endpoint = ""] = path.split("?", 1)
    const known = this.inputs.get(endpoint) ?? new Set()
    this.inputs.set(endpoint, known.add(inputOf(path, init)))
  }

  /** The largest number of different requests to one endpoint in the present check. */
  countInputs(): number {
    return Math.max(0, ...[...this.inputs.values()].map(({ size }) => size))
  }

  forgetInputs(): void {
    this.inputs.clear()
  }

  async request(path: string, init: RequestInit = {}): Promise<Answer> {
    this.note(path, init)
    const response = await fetch(`${this.service.url}${path}`, { ...init, redirect: "manual" })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: parse(text) }
  }

  post(path: string, pairs: Pairs, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const type = { "content-type": "application/x-www-form-urlencoded", ...headers }
    if (!this.isDisguised || Array.isArray(pairs)) {
      return this.request(path, { method: "POST", body: encode(pairs), headers: type })
    }
    const { client_id, client_secret, ...others } = Object.fromEntries(Object.entries(pairs))
    const byBasic = client_id !== undefined && client_secret !== undefined && headers["authorization"] === undefined
    return this.request(path, {
      method: "POST",
      body: disguised(encode(byBasic ? others : pairs)),
      headers: { ...type, ...(byBasic ? basic({ client_id: Number(client_id), client_secret }) : {}) }
    })
  }

  /** The address of an authorization request; an `undefined` removes a parameter. */
  authorizePath(client: Client, changes: Changes = {}): string {
    const query = encode({
      client_id: String(client.client_id),
      redirect_uri: callback,
      response_type: "code",
      scope: "profile:read read",
      ...changes
    })
    return `/oauth/authorize?${this.isDisguised ? disguised(query) : query}`
  }

  /** A browser in which this user is signed in. */
  async browserOf(user: Person): Promise<Browser> {
    const known = this.browsers.get(user)
    if (known !== undefined) return known
    const browser = new Browser()
    await signIn(browser, await browser.open(`${this.service.url}/login`), user.email, user.password)
    this.browsers.set(user, browser)
    return browser
  }

  /** An authorization request in the browser of a signed-in user; no redirect is followed. */
  async ask(client: Client, changes: Changes = {}, user?: Person): Promise<Page> {
    return this.askAt(this.authorizePath(client, changes), user)
  }

  async askAt(path: string, user?: Person): Promise<Page> {
    this.note(path)
    const person = user ?? await this.user("athlete")
    const browser = await this.browserOf(person)
    const page = await browser.request(`${this.service.url}${path}`)
    if (page.headers.get("location")?.startsWith("/login") !== true) return page
    // The clock was moved forward, and the session has ended.
    this.browsers.delete(person)
    return (await this.browserOf(person)).request(`${this.service.url}${path}`)
  }

  /** Posts the decision of the user. Returns the target of the redirect. */
  async consent(
    client: Client,
    changes: Changes = {},
    decision: "allow" | "deny" = "allow",
    user?: Person
  ): Promise<URL> {
    const person = user ?? await this.user("athlete")
    return decide(await this.browserOf(person), await this.ask(client, changes, person), decision)
  }

  async code(client: Client, changes: Changes = {}, user?: Person) {
    return (await this.consent(client, changes, "allow", user)).searchParams.get("code") ?? ""
  }

  /** A token request with the credentials in the body; an `undefined` removes a parameter. */
  token(client: Client, changes: Changes): Promise<Answer> {
    return this.post("/oauth/token", { ...credentials(client), ...changes })
  }

  exchange(client: Client, code: string, changes: Changes = {}): Promise<Answer> {
    return this.token(client, { grant_type: "authorization_code", code, redirect_uri: callback, ...changes })
  }

  refresh(client: Client, token: string, changes: Changes = {}): Promise<Answer> {
    return this.token(client, { grant_type: "refresh_token", refresh_token: token, ...changes })
  }

  /** A pair of tokens of this client. */
  async tokens(client: Client, changes: Changes = {}, user?: Person) {
    return this.pair(await this.exchange(client, await this.code(client, changes, user)))
  }

  pair({ body, status }: Answer): Tokens {
    const { access_token, refresh_token } = body
    if (typeof access_token === "string" && typeof refresh_token === "string") return { access_token, refresh_token }
    throw new Error(`no tokens, but ${status} ${JSON.stringify(body)}`)
  }

  introspect(client: Client, token: string, changes: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.post("/oauth/introspect", { ...credentials(client), token, ...changes })
  }

  revoke(client: Client, token: string, changes: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.post("/oauth/revoke", { ...credentials(client), token, ...changes })
  }

  /** Whether a token is active, by an introspection of its own client. */
  async isActive(client: Client, token: string): Promise<boolean> {
    return (await this.introspect(client, token)).body["active"] === true
  }

  resource(headers: Readonly<Record<string, string>>, query = ""): Promise<Answer> {
    return this.request(`/api/v1/athlete${query}`, { headers })
  }

  bearer(token: string): Promise<Answer> {
    return this.resource({ authorization: `Bearer ${token}` })
  }

  /** The metadata, which must not depend on the request. */
  async metadata(): Promise<Answer> {
    const path = "/.well-known/oauth-authorization-server"
    const headers = { "x-forwarded-host": "evil.test", "x-forwarded-proto": "http", "accept-language": "fr" }
    const answers = [
      await this.request(path),
      await this.request(`${path}?issuer=https://evil.test`),
      await this.request(path, { headers })
    ]
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    const [answer] = answers
    if (answer === undefined) throw new Error("no answer")
    return answer
  }
}

/** Whether a page asks for consent. */
export const asksForConsent = (page: Page): boolean =>
  formsOf(page).some(({ buttons }) => buttons.some(([name]) => name === "decision"))

export { formsOf, theForm }
export type { Client, Page, Person }
