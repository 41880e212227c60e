/** A client of one service, as one application. */
import { AccessDenied, refusalOf, Refused, send } from "./internal/service.ts"
import { createInbox, type Inbox, type InboxOptions } from "./Inbox.ts"
import { base64url, isEqual, sha256, unguessable } from "./internal/crypto.ts"
import { type Connected, createTokens, type Fresh, readFresh, type Tokens, type TokenStore } from "./Tokens.ts"

/** The service, and the credentials of the application. */
export interface Options {
  /** URL of the service, such as `https://startlist.example`. */
  readonly url: string
  readonly clientId: number | string
  readonly clientSecret: string
  /** One of the registered redirect URIs. */
  readonly redirectUri: string
  /** The issuer that redirects of the service name, if they name one (RFC 9207). Default: `url`. */
  readonly issuer?: string
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch
  /** Milliseconds since 1970. Default: the clock of this machine. */
  readonly now?: () => number
}

/** A request for a user's consent. */
export interface Wanted {
  /** Separated by spaces, such as `profile:read read`. */
  readonly scope: string
  /** The role that the user must have: `platform`, `organizer`, `club` or `athlete`. */
  readonly role?: "platform" | "organizer" | "club" | "athlete"
  readonly locale?: "en" | "fr"
}

/** The URL for the browser, and a value to store in the user's session until it returns. */
export interface Authorization {
  readonly url: string
  readonly keep: { readonly state: string; readonly verifier: string }
}

/** Everything that an application does with the service. */
export interface Client {
  /** Begins an authorization with PKCE and state: redirect the browser to `url`. */
  readonly authorize: (wanted: Wanted) => Promise<Authorization>
  /**
   * Completes an authorization: returns the tokens, and the number of the user at the service. `back` is the URL to which
   * the browser returned. Fails with `AccessDenied`, `Refused` (also if `back` belongs to another session or comes from
   * another service) or `TryLater`: then call `finish` again.
   */
  readonly finish: (back: string | URL, keep: Authorization["keep"]) => Promise<Connected>
  /** Tokens of all users, in a store. */
  readonly tokens: (store: TokenStore) => Tokens
  /** Revokes all tokens of the user of this token. Fails with `TryLater` or `Refused`: then nothing was revoked. */
  readonly revoke: (token: string) => Promise<void>
  /**
   * Subscribes to events. `accessToken` belongs to a platform user. The callback must answer before this returns: pass
   * its requests to an inbox with the same verify token.
   */
  readonly subscribe: (accessToken: string, callbackUrl: string, verifyToken: string) => Promise<void>
  /** Receives events. */
  readonly inbox: (options: InboxOptions) => Inbox
}

/**
 * Makes a client. It sends nothing by itself.
 *
 * @example
 * ```ts
 * import { createClient, memoryTokens } from "@startlist/client"
 *
 * const client = createClient({
 *   url: "https://startlist.example",
 *   clientId: 7,
 *   clientSecret: "sl_cs_…",
 *   redirectUri: "https://club.example/back"
 * })
 * const tokens = client.tokens(memoryTokens())
 *
 * // Redirect the browser to `url`, and store `keep` in its session.
 * export const connect = () => client.authorize({ scope: "profile:read read" })
 *
 * // The browser has returned to `back`.
 * export const connected = async (user: string, back: string, keep: { state: string; verifier: string }) =>
 *   tokens.connect(user, await client.finish(back, keep))
 * ```
 */
export const createClient = (options: Options): Client => {
  const { clientId, clientSecret, fetch = globalThis.fetch, now = Date.now, redirectUri } = options
  const url = options.url.replace(/(?<!\/)\/+$/, "")
  const { issuer = url } = options

  const post = (path: string, parameters: Readonly<Record<string, string>>, idempotencyKey?: string) =>
    send(fetch, `${url}${path}`, {
      method: "POST",
      headers: idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
      body: new URLSearchParams({ client_id: String(clientId), client_secret: clientSecret, ...parameters })
    })

  const ask = async (parameters: Readonly<Record<string, string>>, idempotencyKey: string): Promise<Fresh> => {
    const sentAt = now()
    const answer = await post("/oauth/token", parameters, idempotencyKey)
    const fresh = answer.status === 200 ? readFresh(answer, sentAt) : undefined
    if (fresh === undefined) throw refusalOf(answer)
    return fresh
  }

  /** The user of a token (RFC 7662). Users of every role have one. */
  const userOf = async (token: string): Promise<number> => {
    const answer = await post("/oauth/introspect", { token })
    if (answer.status !== 200) throw refusalOf(answer)
    const { active, sub } = Object(answer.body) as Record<string, unknown>
    if (active === false) throw new Refused("invalid_grant", "the access has ended")
    if (typeof sub !== "string" || !/^\d{1,16}$/.test(sub)) {
      throw new Refused("invalid_response", `${url} is not a Startlist service`)
    }
    return Number(sub)
  }

  const revoke = async (token: string): Promise<void> => {
    const answer = await post("/oauth/revoke", { token })
    if (answer.status !== 200) throw refusalOf(answer)
  }

  return {
    authorize: async ({ locale, role, scope }) => {
      const keep = { state: unguessable(), verifier: unguessable() }
      const query = new URLSearchParams({
        response_type: "code",
        client_id: String(clientId),
        redirect_uri: redirectUri,
        scope,
        state: keep.state,
        code_challenge: base64url(await sha256(keep.verifier)),
        code_challenge_method: "S256",
        ...(role === undefined ? {} : { role }),
        ...(locale === undefined ? {} : { locale })
      })
      return { url: `${url}/oauth/authorize?${query}`, keep }
    },
    finish: async (back, { state, verifier }) => {
      const { searchParams } = new URL(back, "http://localhost")
      const returned = new Map(searchParams)
      if ([...searchParams].length > returned.size) {
        throw new Refused("invalid_response", "the redirect has a parameter twice, so its answer is ambiguous")
      }
      if (!await isEqual(returned.get("state") ?? "", state)) {
        throw new Refused("invalid_state", "this redirect does not belong to this session")
      }
      // RFC 9207 §2.4: also before an error is believed.
      if ((returned.get("iss") ?? issuer) !== issuer) {
        throw new Refused("invalid_issuer", `this redirect comes from another service than ${issuer}`)
      }
      const error = returned.get("error")
      if (error === "access_denied") throw new AccessDenied()
      if (error !== undefined) throw new Refused(error, returned.get("error_description") ?? "the request was refused")
      const code = returned.get("code")
      if (code === undefined) throw new Refused("invalid_response", "the redirect has no code")
      const parameters = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier }
      // Only this session knows the state, which is used once. A repeat after a lost response has the same key.
      const fresh = await ask(parameters, state)
      return { ...fresh, userId: await userOf(fresh.accessToken) }
    },
    tokens: (store) =>
      createTokens({
        store,
        now,
        revoke,
        refresh: (refreshToken, key) => ask({ grant_type: "refresh_token", refresh_token: refreshToken }, key)
      }),
    revoke,
    subscribe: async (accessToken, callbackUrl, verifyToken) => {
      const answer = await send(fetch, `${url}/api/v1/webhook_subscription`, {
        method: "POST",
        headers: { authorization: `Bearer ${accessToken}`, "content-type": "application/json" },
        body: JSON.stringify({ webhook_subscription: { callback_url: callbackUrl, verify_token: verifyToken } })
      })
      if (answer.status !== 201) throw refusalOf(answer)
    },
    inbox: (given) => createInbox({ ...given, now, fetch, url })
  }
}
