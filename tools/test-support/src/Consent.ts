/** The authorization flow in a browser: a user signs in and decides. */
import { Browser, type Page, signIn, theForm } from "./Browser.ts"
import type { Client, Person } from "./Operator.ts"

/** A redirect URI without a server. The browser does not follow it. */
export const redirectUri = "http://localhost:7999/callback"

export interface Wanted {
  readonly scope?: string
  readonly state?: string
  readonly role?: string
  readonly locale?: string
  readonly redirect_uri?: string
}

/** The address to which an application sends the browser. */
export const authorizeUrl = (service: { readonly url: string }, client: Client, wanted: Wanted = {}): string =>
  `${service.url}/oauth/authorize?${new URLSearchParams({
    client_id: String(client.client_id),
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "profile:read read",
    ...wanted
  })}`

/** Opens an address, and signs in if the page requires it. */
export const openAs = async (browser: Browser, url: string, user: Person): Promise<Page> => {
  const page = await browser.open(url)
  return page.html.includes("type=\"password\"") ? await signIn(browser, page, user.email, user.password) : page
}

/** Presses a button of the consent page and returns the redirect. */
export const decide = async (browser: Browser, page: Page, decision: "allow" | "deny"): Promise<URL> => {
  const form = theForm(page, ({ buttons }) => buttons.some(([name]) => name === "decision"))
  const next = await browser.submit(form, {}, ["decision", decision])
  const location = next.headers.get("location")
  if (location === null) throw new Error(`no redirect but ${next.status}:\n${next.html}`)
  return new URL(location)
}

/** Sends the user to the service and returns the redirect back to the application. */
export const consent = async (
  url: string,
  user: Person,
  decision: "allow" | "deny" = "allow",
  browser: Browser = new Browser()
): Promise<URL> => decide(browser, await openAs(browser, url, user), decision)

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

/** Posts a form to an endpoint. */
export const postForm = (url: string, form: Readonly<Record<string, string>>, headers: HeadersInit = {}) =>
  fetch(url, { method: "POST", body: new URLSearchParams(form), headers })

const credentials = (client: Client) => ({
  client_id: String(client.client_id),
  client_secret: client.client_secret
})

/** Exchanges the code of a redirect. */
export const exchange = (service: { readonly url: string }, client: Client, code: string): Promise<Response> =>
  postForm(`${service.url}/oauth/token`, { ...credentials(client), grant_type: "authorization_code", code })

export const refresh = (
  service: { readonly url: string },
  client: Client,
  token: string,
  headers: HeadersInit = {}
): Promise<Response> =>
  postForm(
    `${service.url}/oauth/token`,
    { ...credentials(client), grant_type: "refresh_token", refresh_token: token },
    headers
  )

export const revoke = (service: { readonly url: string }, client: Client, token: string): Promise<Response> =>
  postForm(`${service.url}/oauth/revoke`, { ...credentials(client), token })

/** The status of a request for a resource with this access token. */
export const athleteStatus = async (service: { readonly url: string }, token: string): Promise<number> => {
  const response = await fetch(`${service.url}/api/v1/athlete`, { headers: { authorization: `Bearer ${token}` } })
  await response.arrayBuffer()
  return response.status
}

/** Consents, and exchanges the code for tokens of this application and user. */
export const obtainTokens = async (
  service: { readonly url: string },
  client: Client,
  user: Person,
  wanted: Wanted = {},
  browser: Browser = new Browser()
): Promise<Tokens> => {
  const back = await consent(authorizeUrl(service, client, wanted), user, "allow", browser)
  const response = await exchange(service, client, back.searchParams.get("code") ?? "")
  if (response.status !== 200) throw new Error(`no tokens but ${response.status}: ${await response.text()}`)
  return await response.json()
}

/** Number of attempts: on a busy machine a validation can take longer than its two seconds. */
const validations = 4

/** Subscribes the application of this platform user's token. */
export const subscribe = async (
  service: { readonly url: string },
  token: string,
  callbackUrl: string
): Promise<Response> => {
  for (let attempt = 1;; attempt++) {
    const response = await fetch(`${service.url}/api/v1/webhook_subscription`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ webhook_subscription: { callback_url: callbackUrl, verify_token: "the verify token" } })
    })
    if (response.status !== 422 || attempt === validations) return response
    const { errors } = await response.clone().json()
    if (errors[0]?.code !== "timeout") return response
  }
}

/** The page after a button of the signing secret was pressed: `reveal` or `rotate`. */
export const pressForSigningSecrets = async (
  service: { readonly url: string },
  client: Client,
  owner: Person,
  button: "reveal" | "rotate"
): Promise<ReadonlyArray<string>> => {
  const browser = new Browser()
  const path = `${service.url}/developer/applications/${client.client_id}/signing-secret`
  const page = await openAs(browser, path, owner)
  const form = theForm(page, ({ buttons }) => buttons.some(([, value]) => value === button))
  const shown = await browser.submit(form, {}, ["action", button])
  return shown.html.match(/whsec_[A-Za-z0-9+/]+=*/g) ?? []
}

/** The current signing secret of the application. */
export const revealSigningSecret = async (
  service: { readonly url: string },
  client: Client,
  owner: Person
): Promise<string> => {
  const [secret] = await pressForSigningSecrets(service, client, owner, "reveal")
  if (secret === undefined) throw new Error("no signing secret is shown")
  return secret
}
