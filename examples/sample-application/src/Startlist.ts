/** The registration platform, seen from an application: OAuth by a library, the API by `fetch`. */
import * as OAuth from "openid-client"
import type { Settings } from "./Settings.ts"
import type { Connection, Person, Role, Subscription } from "./State.ts"

/** What was answered, whatever it was. */
export interface Answer {
  readonly status: number
  readonly text: string
}

/** The platform said no, or nothing at all. The message is for people. */
export class Refused extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

/** Only what is needed (requirements §4.1). */
const scopes: Readonly<Record<Role, string>> = { athlete: "profile:read read", platform: "read" }

/** What a library's error means for a person. */
const explain = (error: unknown): Refused => {
  if (error instanceof Refused) return error
  if (error instanceof OAuth.ResponseBodyError) {
    return new Refused(`${error.error}: ${error.error_description ?? "no description"}`, error.status)
  }
  if (error instanceof OAuth.AuthorizationResponseError) {
    return error.error === "access_denied"
      ? new Refused("You did not allow the access. Nothing was connected.")
      : new Refused(`${error.error}: ${error.error_description ?? "no description"}`)
  }
  return new Refused(`The platform cannot be reached: ${error instanceof Error ? error.message : String(error)}`)
}

const told = async <A>(answer: Promise<A>): Promise<A> => {
  try {
    return await answer
  } catch (error) {
    throw explain(error)
  }
}

/** What the browser must bring back, and what only this server knows. */
export interface Pending {
  readonly role: Role
  readonly state: string
  readonly verifier: string
}

export interface Startlist {
  /** Where the browser is sent to ask somebody for access. */
  readonly authorize: (role: Role) => Promise<{ readonly url: string; readonly pending: Pending }>
  /** The browser came back with a code: exchanges it. */
  readonly exchange: (address: URL, pending: Pending) => Promise<Connection>
  /** The next pair of tokens; the old refresh token is worth nothing afterwards. */
  readonly refresh: (connection: Connection) => Promise<Connection>
  /** Gives all access of this user back. */
  readonly revoke: (connection: Connection) => Promise<void>
  /** `GET /api/v1/athlete`. */
  readonly athlete: (connection: Connection) => Promise<Answer>
  readonly subscribe: (connection: Connection, verifyToken: string) => Promise<Subscription>
  readonly subscription: (connection: Connection) => Promise<Subscription | undefined>
  readonly unsubscribe: (connection: Connection) => Promise<void>
}

export const make = (settings: Settings): Startlist => {
  const redirectUri = `${settings.publicUrl}/callback`
  let discovered: Promise<OAuth.Configuration> | undefined

  /** The platform's metadata say where everything is (RFC 8414). Asked for once it is needed, until it is answered. */
  const configuration = (): Promise<OAuth.Configuration> => {
    const isLocal = settings.startlistUrl.startsWith("http://")
    discovered ??= OAuth.discovery(
      new URL(settings.startlistUrl),
      settings.clientId,
      undefined,
      OAuth.ClientSecretPost(settings.clientSecret),
      { algorithm: "oauth2", execute: isLocal ? [OAuth.allowInsecureRequests] : [] }
    ).catch((error) => {
      discovered = undefined
      throw error
    })
    return discovered
  }

  const toExpiry = (seconds: number | undefined): number => Date.now() + (seconds ?? 0) * 1000

  const call = (connection: Connection, method: string, path: string, body?: unknown): Promise<Answer> =>
    told((async () => {
      const response = await fetch(`${settings.startlistUrl}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${connection.accessToken}`,
          ...(body === undefined ? {} : { "content-type": "application/json" })
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: "manual",
        signal: AbortSignal.timeout(10_000)
      })
      return { status: response.status, text: await response.text() }
    })())

  const refused = ({ status, text }: Answer): Refused => {
    try {
      return new Refused(`${JSON.parse(text).message}`, status)
    } catch {
      return new Refused("There is no explanation.", status)
    }
  }

  const subscriptionPath = "/api/v1/webhook_subscription"

  return {
    authorize: (role) =>
      told((async () => {
        const verifier = OAuth.randomPKCECodeVerifier()
        const state = OAuth.randomState()
        const url = OAuth.buildAuthorizationUrl(await configuration(), {
          redirect_uri: redirectUri,
          scope: scopes[role],
          role,
          state,
          code_challenge: await OAuth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256"
        })
        return { url: url.href, pending: { role, state, verifier } }
      })()),

    exchange: (address, { role, state, verifier }) =>
      told((async () => {
        const tokens = await OAuth.authorizationCodeGrant(await configuration(), address, {
          expectedState: state,
          pkceCodeVerifier: verifier
        })
        const connection: Connection = {
          role,
          accessToken: tokens.access_token,
          refreshToken: tokens.refresh_token ?? "",
          scope: tokens.scope ?? scopes[role],
          expiresAt: toExpiry(tokens.expires_in),
          refreshed: 0,
          person: undefined
        }
        if (role !== "athlete") return connection
        const answer = await call(connection, "GET", "/api/v1/athlete")
        if (answer.status !== 200) throw refused(answer)
        const person: Person = JSON.parse(answer.text)
        return { ...connection, person }
      })()),

    refresh: (connection) =>
      told((async () => {
        const tokens = await OAuth.refreshTokenGrant(await configuration(), connection.refreshToken)
        return {
          ...connection,
          accessToken: tokens.access_token,
          refreshToken: tokens.refresh_token ?? connection.refreshToken,
          expiresAt: toExpiry(tokens.expires_in),
          refreshed: connection.refreshed + 1
        }
      })()),

    revoke: (connection) => told((async () => OAuth.tokenRevocation(await configuration(), connection.refreshToken))()),

    athlete: (connection) => call(connection, "GET", "/api/v1/athlete"),

    subscribe: async (connection, verifyToken) => {
      const answer = await call(connection, "POST", subscriptionPath, {
        webhook_subscription: { callback_url: settings.callbackUrl, verify_token: verifyToken }
      })
      if (answer.status !== 201) throw refused(answer)
      return JSON.parse(answer.text)
    },

    subscription: async (connection) => {
      const answer = await call(connection, "GET", subscriptionPath)
      if (answer.status === 404) return undefined
      if (answer.status !== 200) throw refused(answer)
      return JSON.parse(answer.text)
    },

    unsubscribe: async (connection) => {
      const answer = await call(connection, "DELETE", subscriptionPath)
      if (answer.status !== 204) throw refused(answer)
    }
  }
}
