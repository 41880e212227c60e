/**
 * Checks codes and tokens as their holders see them: by the answers and their times (laws 1 to 3). It asks no store and no
 * rule of the core. Where calls overlap or an answer was lost, it expects only what holds in every order.
 */
import type { ApplicationId } from "@startlist/core/Application"
import type { UserId } from "@startlist/core/User"
import type { Policy } from "@startlist/core/Policy"
import * as Duration from "effect/Duration"
import * as Equal from "effect/Equal"
import type * as Redacted from "effect/Redacted"
import type { History } from "./History.ts"

/** One consent, and what came of it. */
export interface Consented {
  readonly begin: number
  /** When it was answered; infinite until then. */
  end: number
  code: Redacted.Redacted<string> | undefined
  /** Whether the code was exchanged with success. */
  isExchanged: boolean
  /** Nothing of it may be accepted any more, whatever the order of the operations was. */
  isDead: boolean
  /** Everything of it must be accepted: no operation can have ended it. */
  isSure: boolean
  /** The clock of the node that served it, less the true time. */
  offset: number
}

/** A pair of tokens from an answer. */
export interface Issued {
  readonly access: Redacted.Redacted<string>
  readonly refresh: Redacted.Redacted<string>
  /** By the clock of the node that made it. */
  readonly createdAt: number
  readonly of: Consented
  /** The pair whose refresh token was presented; none if a code was. */
  readonly from: Issued | undefined
  /** When a pair was first given for its refresh token. */
  refreshedAt: number
}

/** A pair in an answer, and when its request began: true time, and the offset of its node's clock. */
export interface Answered extends Pick<Issued, "access" | "refresh" | "createdAt"> {
  readonly began: number
  readonly offset: number
}

/** What an operation may do to a grant. After one that succeeds, the checker knows what must be accepted. */
export type Expectation = "read-only" | "succeeds" | "may fail"

export interface Pair {
  readonly application: number
  readonly user: number
  readonly consents: Array<Consented>
  /** Oldest first. */
  readonly issued: Array<Issued>
  /** Number of operations in progress that may change the grant. */
  changing: number
  /** Number of such operations that have begun. */
  changes: number
  /** Until then, a request without an answer may still arrive. */
  doubtUntil: number
}

/** Longer than any request is held up. */
const longest = Duration.toMillis("2 minutes")

export type TokenChecker = ReturnType<typeof makeTokenChecker>

/** `retry` is how long a request may be repeated; zero: never. */
export const makeTokenChecker = (history: History, policy: Policy.Service, retry: Duration.Duration) => {
  const pairs = new Map<string, Pair>()
  const byId = new Map<string, Pair>()
  const codeLifetime = Duration.toMillis(policy.codeLifetime)
  const accessLifetime = Duration.toMillis(policy.accessTokenLifetime)
  const retryWindow = Duration.toMillis(retry)

  const check = ({ application, user }: Pair, law: number, holds: boolean, message: string) =>
    history.check(law, holds, `application ${application} and user ${user}: ${message}`)

  const doubt = (pair: Pair): void => {
    for (const consented of pair.consents) consented.isSure = false
  }

  const dead = (pair: Pair): ReadonlyArray<Issued> => pair.issued.filter(({ of }) => of.isDead).slice(-20)

  /** Adds a pair, or checks that it repeats the answer to an equal request (law 1b). */
  const issue = (
    pair: Pair,
    law: number,
    { began, offset, ...tokens }: Answered,
    of: Consented,
    from?: Issued
  ): void => {
    const earlier = pair.issued.find((one) => one.of === of && one.from === from)
    if (earlier === undefined) {
      pair.issued.push({ ...tokens, of, from, refreshedAt: Infinity })
      return
    }
    const isSame = Equal.equals(earlier.refresh, tokens.refresh) && Equal.equals(earlier.access, tokens.access)
    check(pair, law, isSame, `one ${from === undefined ? "code was exchanged" : "refresh token succeeded"} twice`)
    check(pair, law, began <= earlier.refreshedAt, "a request was repeated after the tokens of its answer were used")
    const isInTime = retryWindow > 0 && began + offset < earlier.createdAt + retryWindow
    check(pair, law, isInTime, "a request was repeated after its time")
    history.count("repeats")
  }

  return {
    dead,
    /** Counted as in the plan. */
    pair: (application: number, user: number): Pair => {
      const key = `${application}:${user}`
      const known = pairs.get(key)
      if (known !== undefined) return known
      const pair: Pair = { application, user, consents: [], issued: [], changing: 0, changes: 0, doubtUntil: 0 }
      pairs.set(key, pair)
      return pair
    },
    /** Sets the identifiers by which the stores know a pair. */
    identify: (pair: Pair, applicationId: ApplicationId, userId: UserId): void =>
      void byId.set(`${applicationId}:${userId}`, pair),
    byId: (applicationId: ApplicationId, userId: UserId): Pair | undefined => byId.get(`${applicationId}:${userId}`),
    begin: (pair: Pair, expectation: Expectation): void => {
      if (expectation === "read-only") return
      if (expectation === "may fail" || pair.changing > 0) doubt(pair)
      pair.changing++
      pair.changes++
    },
    /** `isKnown`: there was an answer, which says what the operation did. */
    end: (pair: Pair, expectation: Expectation, isKnown: boolean): void => {
      if (expectation === "read-only") return
      pair.changing--
      if (isKnown) return
      doubt(pair)
      pair.doubtUntil = history.now() + longest
    },
    consenting: (pair: Pair): Consented => {
      const begin = history.now()
      const isSure = pair.changing === 0 && begin > pair.doubtUntil
      const consented = { begin, end: Infinity, code: undefined, isExchanged: false, isDead: false, isSure, offset: 0 }
      pair.consents.push(consented)
      return consented
    },
    consented: (consented: Consented, code: Redacted.Redacted<string>, offset: number): void =>
      void Object.assign(consented, { end: history.now(), code, offset }),
    /** A code was exchanged with success. */
    exchanged: (pair: Pair, of: Consented, answered: Answered): void => {
      of.isExchanged = true
      const isInTime = answered.began + answered.offset < of.end + of.offset + codeLifetime
      check(pair, 3, isInTime, "a code was exchanged after its lifetime")
      issue(pair, 3, answered, of)
      history.count("exchanges")
    },
    /** Whether every node still knows the code as used: the clocks of the nodes differ by less than a minute. */
    isKnown: ({ begin }: Consented): boolean => history.now() - begin < codeLifetime - 60_000,
    refreshed: (pair: Pair, used: Issued, answered: Answered): void => {
      issue(pair, 1, answered, used.of, used)
      used.refreshedAt = Math.min(used.refreshedAt, history.now())
      history.count("refreshes")
    },
    /** A credential that must be accepted was refused. */
    refused: (pair: Pair, law: number, of: Consented, what: string): void =>
      check(pair, law, !of.isSure || of.isDead, `${what} was refused, and nothing had ended it`),
    /** An access token was accepted by a node when its clock showed `at`. */
    accepted: (pair: Pair, { createdAt, of }: Issued, at: number, wasDead: boolean): void => {
      check(pair, 2, !wasDead || !of.isDead, "an access token was accepted after it was revoked")
      check(pair, 2, at < createdAt + accessLifetime, "an access token was accepted after its lifetime")
      history.count("calls")
    },
    /** Ends everything that was consented to before `begin`, and its tokens. Returns the tokens that must be dead. */
    revoked: (pair: Pair, begin: number): ReadonlyArray<Issued> => {
      for (const consented of pair.consents) if (consented.end <= begin) consented.isDead = true
      history.count("revocations")
      return dead(pair)
    },
    died: (pair: Pair, consented: Consented): ReadonlyArray<Issued> => {
      consented.isDead = true
      return dead(pair)
    }
  }
}
