/**
 * Refreshes the tokens of users, from any number of processes with one store, without locks.
 *
 * A process stores the `Idempotency-Key` of a refresh before it sends the request. If the process dies or the response
 * is lost, the next caller sends the same request, and the service repeats its response: for 10 minutes, until the new
 * refresh token is used.
 */
import { type Answer, ConnectAgain, Refused } from "./internal/service.ts"
import type { AccessRevoked } from "./Events.ts"
import { unguessable } from "./internal/crypto.ts"

/** Tokens from the service. */
export interface Fresh {
  readonly accessToken: string
  readonly refreshToken: string
  /** Time at which the access token expires, in milliseconds since 1970 by the clock of this machine. */
  readonly expiresAt: number
  /** `created_at`: the time of these tokens in whole seconds since 1970, by the clock of the service. */
  readonly createdAt: number
  /** The granted scope, only after the exchange of a code. */
  readonly scope: string | undefined
}

/** Tokens of a user who has just connected. */
export interface Connected extends Fresh {
  /** The number of the user at the service, by which events name the user. */
  readonly userId: number
}

/** The record of a user in a store, as plain JSON. Encrypt it if you can: a reader of it can act for the user. */
export interface Connection {
  /** Unique identifier of this write. */
  readonly revision: string
  /** The number of the user at the service. */
  readonly userId: number
  /** When the user connected: whole seconds since 1970, by the clock of the service. */
  readonly since: number
  /** The time of the tokens, from the connection or the last refresh: whole seconds since 1970, by the clock of the service. */
  readonly createdAt: number
  readonly accessToken: string
  readonly refreshToken: string
  readonly expiresAt: number
  /** The `Idempotency-Key` of a refresh in progress. */
  readonly refreshing: string | undefined
}

/** Stores connections, in a database that all processes share. */
export interface TokenStore {
  readonly load: (user: string) => Promise<Connection | undefined>
  /**
   * Stores `next` (`undefined`: removes the record) if the stored revision is `before` (`undefined`: no record).
   * Atomic. Returns whether it was stored.
   */
  readonly save: (user: string, next: Connection | undefined, before: string | undefined) => Promise<boolean>
  /** Your users whose connection is that of this user of the service: usually one. */
  readonly usersOf: (userId: number) => Promise<ReadonlyArray<string>>
}

/** The tokens of all users of the application. */
export interface Tokens {
  /**
   * Stores the tokens of a user who has just connected, in place of older ones. Two windows of a user can arrive here in
   * any order: the tokens with the later `createdAt` stay. Times are whole seconds: in the same second, the last call
   * wins. Returns whether the tokens were stored: with `false`, the store has newer ones.
   *
   * Call it directly after `finish`. If an event about revoked access is handled in between, the stored tokens are
   * invalid: they are removed when the service refuses them.
   */
  readonly connect: (user: string, connected: Connected) => Promise<boolean>
  /**
   * Returns a valid access token, refreshed if it expires within a minute. `insteadOf`: a token that the service
   * refused with 401, which is not returned again. Fails with `ConnectAgain`, `TryLater` or `Refused` (a mistake of the
   * application).
   */
  readonly accessFor: (user: string, options?: { readonly insteadOf?: string }) => Promise<string>
  /** Revokes the access, and removes the user. Fails with `TryLater` or `Refused`: then nothing has changed. */
  readonly disconnect: (user: string) => Promise<void>
  /**
   * Removes the tokens of the user whose access has ended, but not those of a user who has connected again since. Times
   * are whole seconds: a connection of the same second counts as the earlier one. Returns your users who were removed.
   */
  readonly forget: (event: AccessRevoked) => Promise<ReadonlyArray<string>>
}

/** Time in milliseconds before the expiry of an access token at which it is refreshed. Covers clocks that differ by less. */
const margin = 60_000

/** Time in milliseconds to wait for the refresh of another process before sending the same request. */
const patience = 500

/**
 * Maximum age in milliseconds of a value from the store. The process may have been suspended since it read the value.
 */
const maxAge = 5000

const pause = (millis: number) => new Promise<void>((resolve) => void setTimeout(resolve, millis))

/**
 * Reads a token response (RFC 6749 §5.1) to a request that was sent at this time. A repeated response has the original
 * `created_at`: the difference to its `Date` is the age of the tokens, and both are by the clock of the service.
 */
export const readFresh = ({ body, date }: Answer, sentAt: number): Fresh | undefined => {
  if (typeof body !== "object" || body === null) return undefined
  const { access_token, created_at, expires_in, refresh_token, scope } = body as Record<string, unknown>
  return typeof access_token === "string" && typeof refresh_token === "string" && typeof created_at === "number" &&
      typeof expires_in === "number"
    ? {
      accessToken: access_token,
      refreshToken: refresh_token,
      expiresAt: sentAt + expires_in * 1000 - Math.max((date || sentAt) - created_at * 1000, 0),
      createdAt: created_at,
      scope: typeof scope === "string" ? scope : undefined
    }
    : undefined
}

/** Makes the tokens of a client. */
export const createTokens = ({ now, refresh, revoke, store }: {
  readonly store: TokenStore
  readonly now: () => number
  readonly refresh: (refreshToken: string, idempotencyKey: string) => Promise<Fresh>
  readonly revoke: (token: string) => Promise<void>
}): Tokens => {
  /** Refreshes in progress in this process. */
  const running = new Map<string, Promise<string>>()

  const isGood = ({ accessToken, expiresAt }: Connection, insteadOf: string | undefined): boolean =>
    accessToken !== insteadOf && expiresAt - margin > now()

  const toConnection = (
    { accessToken, createdAt, expiresAt, refreshToken }: Fresh,
    { since, userId }: Pick<Connection, "since" | "userId">
  ): Connection => ({
    revision: unguessable(),
    userId,
    since,
    createdAt,
    accessToken,
    refreshToken,
    expiresAt,
    refreshing: undefined
  })

  /** Waits briefly for the process that began this refresh. */
  const awaitOther = async (user: string, { revision }: Connection): Promise<void> => {
    const end = performance.now() + patience
    while (performance.now() < end) {
      await pause(patience / 10)
      if ((await store.load(user))?.revision !== revision) return
    }
  }

  /** Completes a refresh that any process began. Returns the access token, or nothing if the store has changed. */
  const finish = async (user: string, begun: Connection, key: string): Promise<string | undefined> => {
    try {
      const fresh = await refresh(begun.refreshToken, key)
      return await store.save(user, toConnection(fresh, begun), begun.revision) ? fresh.accessToken : undefined
    } catch (error) {
      if (!(error instanceof Refused && error.code === "invalid_grant")) throw error
      // If the store has changed, another process has completed this refresh, and there are newer tokens.
      if (await store.save(user, undefined, begun.revision)) throw new ConnectAgain(user)
      return undefined
    }
  }

  const obtain = async (user: string, insteadOf: string | undefined): Promise<string> => {
    /** The refresh of another process that this call has waited for. */
    let waitedFor: string | undefined
    while (true) {
      const lookedAt = performance.now()
      const found = await store.load(user)
      if (found === undefined) throw new ConnectAgain(user)
      if (isGood(found, insteadOf)) return found.accessToken
      let begun = found
      if (found.refreshing === undefined) {
        begun = { ...found, revision: unguessable(), refreshing: unguessable() }
        if (!await store.save(user, begun, found.revision)) continue
      } else if (waitedFor !== found.revision) {
        await awaitOther(user, found)
        waitedFor = found.revision
        continue
      }
      if (performance.now() - lookedAt > maxAge) continue
      const accessToken = await finish(user, begun, begun.refreshing ?? "")
      if (accessToken !== undefined) return accessToken
    }
  }

  /** Removes the connection if it has ended. Returns whether it did. */
  const remove = async (user: string, hasEnded: (present: Connection) => boolean): Promise<boolean> => {
    while (true) {
      const found = await store.load(user)
      if (found === undefined || !hasEnded(found)) return false
      if (await store.save(user, undefined, found.revision)) return true
    }
  }

  return {
    connect: async (user, connected) => {
      const { createdAt: since, userId } = connected
      while (true) {
        const found = await store.load(user)
        if (found !== undefined && found.createdAt > since) return false
        if (await store.save(user, toConnection(connected, { since, userId }), found?.revision)) return true
      }
    },
    accessFor: (user, { insteadOf } = {}) => {
      const name = `${user} ${insteadOf ?? ""}`
      const found = running.get(name)
      if (found !== undefined) return found
      const promise = obtain(user, insteadOf).finally(() => running.delete(name))
      running.set(name, promise)
      return promise
    },
    disconnect: async (user) => {
      const found = await store.load(user)
      if (found === undefined) return
      await revoke(found.refreshToken)
      // Refreshed since: ended, too. Connected again since: not.
      await remove(user, ({ since }) => since === found.since)
    },
    forget: async ({ time, userId }) => {
      const forgotten: Array<string> = []
      for (const user of await store.usersOf(userId)) {
        const isEnded = (present: Connection) => present.userId === userId && present.since * 1000 <= time.getTime()
        if (await remove(user, isEnded)) forgotten.push(user)
      }
      return forgotten
    }
  }
}
