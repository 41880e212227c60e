/**
 * Keeps the tokens of users fresh, from any number of processes over one store, without a lock.
 *
 * Before a refresh, its `Idempotency-Key` is written to the store. Every process that finds it there sends the same
 * request, and the service gives all of them the same answer. So a process may die between any two lines, and an answer may get lost: the
 * next one who asks repeats the request. The service repeats its answer for 10 minutes, until the new tokens are used.
 */
import { ConnectAgain, Refused } from "./Errors.ts"
import { unguessable } from "./internal/encoding.ts"

/** Tokens as the service gave them. */
export interface Fresh {
  readonly accessToken: string
  readonly refreshToken: string
  /** When the access token ends, in milliseconds since 1970 by the clock of this machine. */
  readonly expiresAt: number
  /** The granted scope, after an exchange of a code. */
  readonly scope: string | undefined
}

/** The record of a user in a store, as plain JSON. Encrypt it if you can: a reader of it can act for the user. */
export interface Connection {
  /** Names this write, and no other one. */
  readonly revision: string
  readonly accessToken: string
  readonly refreshToken: string
  readonly expiresAt: number
  /** The `Idempotency-Key` of a refresh that has begun and not ended. */
  readonly refreshing: string | undefined
}

/** Where connections live: a database that all processes share. */
export interface TokenStore {
  readonly load: (user: string) => Promise<Connection | undefined>
  /**
   * Writes `next` (`undefined`: removes it) if what is stored has the revision `before` (`undefined`: nothing is stored), as
   * one atomic step. Answers whether it did.
   */
  readonly save: (user: string, next: Connection | undefined, before: string | undefined) => Promise<boolean>
}

export interface Tokens {
  /** Keeps the tokens of a user who has just connected, in place of any before. */
  readonly connect: (user: string, fresh: Fresh) => Promise<void>
  /**
   * A good access token, refreshed if it ends within a minute. `insteadOf`: a token that the service refused with 401; it
   * is not given again. Fails with `ConnectAgain`, `TryLater`, or `Refused` (a mistake of the application: nothing is lost).
   */
  readonly accessFor: (user: string, options?: { readonly insteadOf?: string }) => Promise<string>
  /** Revokes the access, and forgets the user. Fails with `TryLater` or `Refused`: then nothing has changed. */
  readonly disconnect: (user: string) => Promise<void>
  /** Forgets a user whose access has ended, as an event says. */
  readonly forget: (user: string) => Promise<void>
}

/** Time in milliseconds before the expiry of an access token at which it is refreshed. Covers clocks that differ by less. */
const margin = 60_000

/** Time in milliseconds to wait for the refresh of another process before sending the same request. */
const patience = 500

/** A look at the store that is older than this, in milliseconds, is not acted upon: the process may have been suspended. */
const maxAge = 5000

const pause = (millis: number) => new Promise<void>((resolve) => void setTimeout(resolve, millis))

/** Reads a token response (RFC 6749 §5.1). */
export const readFresh = (body: unknown, now: number): Fresh | undefined => {
  if (typeof body !== "object" || body === null) return undefined
  const { access_token, expires_in, refresh_token, scope } = body as Record<string, unknown>
  return typeof access_token === "string" && typeof refresh_token === "string" && typeof expires_in === "number"
    ? {
      accessToken: access_token,
      refreshToken: refresh_token,
      expiresAt: now + expires_in * 1000,
      scope: typeof scope === "string" ? scope : undefined
    }
    : undefined
}

export const createTokens = ({ now, refresh, revoke, store }: {
  readonly store: TokenStore
  readonly now: () => number
  readonly refresh: (refreshToken: string, idempotencyKey: string) => Promise<Fresh>
  readonly revoke: (token: string) => Promise<void>
}): Tokens => {
  /** The refreshes that this process waits for. */
  const running = new Map<string, Promise<string>>()

  const isGood = ({ accessToken, expiresAt }: Connection, insteadOf: string | undefined): boolean =>
    accessToken !== insteadOf && expiresAt - margin > now()

  const toConnection = ({ accessToken, expiresAt, refreshToken }: Fresh): Connection => ({
    revision: unguessable(),
    accessToken,
    refreshToken,
    expiresAt,
    refreshing: undefined
  })

  /** Waits a little for the process that began this refresh. */
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
      return await store.save(user, toConnection(fresh), begun.revision) ? fresh.accessToken : undefined
    } catch (error) {
      if (!(error instanceof Refused && error.code === "invalid_grant")) throw error
      // If the store has changed, somebody else has ended this refresh, and there are newer tokens.
      if (await store.save(user, undefined, begun.revision)) throw new ConnectAgain(user)
      return undefined
    }
  }

  const obtain = async (user: string, insteadOf: string | undefined): Promise<string> => {
    /** The refresh of somebody else that was waited for. */
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

  const forget = async (user: string): Promise<void> => {
    while (true) {
      const found = await store.load(user)
      if (found === undefined || await store.save(user, undefined, found.revision)) return
    }
  }

  return {
    connect: async (user, fresh) => {
      while (true) {
        const before = (await store.load(user))?.revision
        if (await store.save(user, toConnection(fresh), before)) return
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
      await forget(user)
    },
    forget
  }
}
