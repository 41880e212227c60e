/** The registration platform, seen from an application: users, tokens and events by its client package, the API by `fetch`. */
import {
  AccessDenied,
  type AccessRevoked,
  type Authorization,
  type Client,
  createClient,
  memoryTokens,
  Refused as RefusedByPlatform,
  TryLater
} from "@startlist/client"
import type { Settings } from "./Settings.ts"
import type { Connection, Person, Role, Subscription } from "./State.ts"

/** Any response. */
export interface Answer {
  readonly status: number
  readonly text: string
}

/** The platform refused or did not answer. The message is for people. */
export class Refused extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

/** Only what is needed (requirements §4.1). */
const scopes: Readonly<Record<Role, string>> = { athlete: "profile:read read", platform: "read" }

/** The error in words. */
const explain = (error: unknown): Error => {
  if (error instanceof AccessDenied) return new Refused("You did not allow the access. Nothing was connected.")
  if (error instanceof TryLater) return new Refused(`The platform cannot be reached: ${error.message}.`)
  if (error instanceof RefusedByPlatform) return new Refused(error.message)
  return error instanceof Error ? error : new Error(String(error))
}

const explained = async <A>(answer: Promise<A>): Promise<A> => {
  try {
    return await answer
  } catch (error) {
    throw explain(error)
  }
}

/** The state that the browser must return, and the verifier that only this server has. */
export interface Pending {
  readonly role: Role
  readonly keep: Authorization["keep"]
}

export interface Startlist {
  readonly client: Client
  /** The address at which a user decides about access. */
  readonly authorize: (role: Role) => Promise<{ readonly url: string; readonly pending: Pending }>
  /** Exchanges the code with which the browser returned. */
  readonly exchange: (address: URL, pending: Pending) => Promise<Connection>
  /** Refreshes the tokens. The old refresh token becomes invalid. */
  readonly refresh: (connection: Connection) => Promise<Connection>
  /** Revokes all access to this user. */
  readonly revoke: (connection: Connection) => Promise<void>
  /** Forgets the tokens of a user whose access has ended. Returns the connections that have ended. */
  readonly forget: (event: AccessRevoked) => Promise<ReadonlyArray<Role>>
  /** `GET /api/v1/athlete`. */
  readonly athlete: (connection: Connection) => Promise<Answer>
  readonly subscribe: (connection: Connection, verifyToken: string) => Promise<Subscription | undefined>
  readonly subscription: (connection: Connection) => Promise<Subscription | undefined>
  readonly unsubscribe: (connection: Connection) => Promise<void>
}

export const make = (settings: Settings): Startlist => {
  const client = createClient({
    url: settings.startlistUrl,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    redirectUri: `${settings.publicUrl}/callback`
  })
  // In production, use a store in your database: one of those in the package, or your own with three methods.
  const store = memoryTokens()
  const tokens = client.tokens(store)

  const call = async (connection: Connection, method: string, path: string): Promise<Answer> => {
    try {
      const response = await fetch(`${settings.startlistUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${connection.accessToken}` },
        redirect: "manual",
        signal: AbortSignal.timeout(10_000)
      })
      return { status: response.status, text: await response.text() }
    } catch (error) {
      throw new Refused(`The platform cannot be reached: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  const refused = ({ status, text }: Answer): Refused => {
    try {
      return new Refused(`${JSON.parse(text).message}`, status)
    } catch {
      return new Refused("There is no explanation.", status)
    }
  }

  const subscriptionPath = "/api/v1/webhook_subscription"

  const subscription: Startlist["subscription"] = async (connection) => {
    const answer = await call(connection, "GET", subscriptionPath)
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw refused(answer)
    return JSON.parse(answer.text)
  }

  return {
    client,
    authorize: async (role) => {
      const { keep, url } = await client.authorize({ scope: scopes[role], role })
      return { url, pending: { role, keep } }
    },

    exchange: (address, { keep, role }) =>
      explained((async () => {
        const fresh = await client.finish(address, keep)
        await tokens.connect(role, fresh)
        /** Fails if another window has connected since, or the user has revoked the access. */
        const checked = async <A>(connection: A): Promise<A> => {
          if ((await store.load(role))?.accessToken === fresh.accessToken) return connection
          throw new Refused("This connection has ended, or there is a newer one.")
        }
        const connection: Connection = {
          role,
          accessToken: fresh.accessToken,
          refreshToken: fresh.refreshToken,
          scope: fresh.scope ?? scopes[role],
          expiresAt: fresh.expiresAt,
          refreshed: 0,
          person: undefined
        }
        if (role !== "athlete") return checked(connection)
        const answer = await call(connection, "GET", "/api/v1/athlete")
        if (answer.status !== 200) throw refused(answer)
        const person: Person = JSON.parse(answer.text)
        return checked({ ...connection, person })
      })()),

    // A real application calls `accessFor(user)` before each request, which refreshes in time.
    refresh: (connection) =>
      explained((async () => {
        await tokens.accessFor(connection.role, { insteadOf: connection.accessToken })
        const fresh = await store.load(connection.role)
        return { ...connection, ...fresh, refreshed: connection.refreshed + 1 }
      })()),

    revoke: (connection) => explained(tokens.disconnect(connection.role)),

    forget: async (event) => {
      const forgotten = await tokens.forget(event)
      return (["athlete", "platform"] as const).filter((role) => forgotten.includes(role))
    },

    athlete: (connection) => call(connection, "GET", "/api/v1/athlete"),

    subscribe: async (connection, verifyToken) => {
      await explained(client.subscribe(connection.accessToken, settings.callbackUrl, verifyToken))
      return subscription(connection)
    },

    subscription,

    unsubscribe: async (connection) => {
      const answer = await call(connection, "DELETE", subscriptionPath)
      if (answer.status !== 204) throw refused(answer)
    }
  }
}
