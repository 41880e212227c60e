/**
 * What was promised about codes and tokens, as their holders see it: by what was answered and when. No store and no
 * rule of the core is asked; where calls overlap or an answer was lost, only what holds in every order is promised.
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
  /** When it was answered; infinite as long as it was not. */
  end: number
  code: Redacted.Redacted<string> | undefined
  /** Whether the code was exchanged with success. */
  isExchanged: boolean
  /** Nothing of it may be accepted any more, in whatever order things happened. */
  isDead: boolean
  /** Everything of it must be accepted: nothing happened that could have ended it. */
  isSure: boolean
  /** The clock of the node that served it, against the true time. */
  offset: number
}

/** A pair of tokens that was answered. */
export interface Issued {
  readonly access: Redacted.Redacted<string>
  readonly refresh: Redacted.Redacted<string>
  /** By the clock of the node that made it. */
  readonly createdAt: number
  readonly of: Consented
  /** The pair whose refresh token it was given for; none, if it was a code. */
  readonly from: Issued | undefined
  /** When a pair was first given for its refresh token. */
  refreshedAt: number
}

/** What is known of an answered pair, and when its request began, by the true time and by the clock of its node. */
export interface Answered extends Pick<Issued, "access" | "refresh" | "createdAt"> {
  readonly began: number
  readonly offset: number
}

/** What a call may do to a grant. `proper` ones leave no doubt about what must be accepted afterwards. */
export type Expectation = "read-only" | "succeeds" | "may fail"

export interface Pair {
  readonly application: number
  readonly user: number
  readonly consents: Array<Consented>
  /** Oldest first. */
  readonly issued: Array<Issued>
  /** How many calls that may change the grant are under way. */
  changing: number
  /** How many have begun. */
  changes: number
  /** A request whose answer is not known may still be on its way until then. */
  doubtUntil: number
}

/** Longer than any request is held up. */
const longest = Duration.toMillis("2 minutes")

export class TokenChecker {
  readonly #history: History
  readonly #policy: Policy.Service
  readonly #pairs = new Map<string, Pair>()
  readonly #byId = new Map<string, Pair>()

  constructor(history: History, policy: Policy.Service) {
    this.#history = history
    this.#policy = policy
  }

  /** Counted as in the plan. */
  pair(application: number, user: number): Pair {
    const key = `${application}:${user}`
    const known = this.#pairs.get(key)
    if (known !== undefined) return known
    const pair: Pair = { application, user, consents: [], issued: [], changing: 0, changes: 0, doubtUntil: 0 }
    this.#pairs.set(key, pair)
    return pair
  }

  /** Says by which identifiers the stores know a pair. */
  introduce(pair: Pair, applicationId: ApplicationId, userId: UserId): void {
    this.#byId.set(`${applicationId}:${userId}`, pair)
  }

  byId(applicationId: ApplicationId, userId: UserId): Pair | undefined {
    return this.#byId.get(`${applicationId}:${userId}`)
  }

  begin(pair: Pair, expectation: Expectation): void {
    if (expectation === "read-only") return
    if (expectation === "may fail" || pair.changing > 0) this.#doubt(pair)
    pair.changing++
    pair.changes++
  }

  /** `isKnown`: it was answered, and the answer says what happened. */
  end(pair: Pair, expectation: Expectation, isKnown: boolean): void {
    if (expectation === "read-only") return
    pair.changing--
    if (isKnown) return
    this.#doubt(pair)
    pair.doubtUntil = this.#history.now() + longest
  }

  #doubt(pair: Pair): void {
    for (const consented of pair.consents) consented.isSure = false
  }

  consenting(pair: Pair): Consented {
    const begin = this.#history.now()
    const consented: Consented = {
      begin,
      end: Infinity,
      code: undefined,
      isExchanged: false,
      isDead: false,
      isSure: pair.changing === 0 && begin > pair.doubtUntil,
      offset: 0
    }
    pair.consents.push(consented)
    return consented
  }

  consented(consented: Consented, code: Redacted.Redacted<string>, offset: number): void {
    consented.end = this.#history.now()
    consented.code = code
    consented.offset = offset
  }

  /** A code was exchanged with success. */
  exchanged(pair: Pair, consented: Consented, answered: Answered): void {
    consented.isExchanged = true
    const ends = consented.end + consented.offset + Duration.toMillis(this.#policy.codeLifetime)
    this.#history.check(
      3,
      answered.began + answered.offset < ends,
      () => `${this.#name(pair)}: a code was exchanged after its lifetime`
    )
    const earlier = pair.issued.find(({ from, of }) => of === consented && from === undefined)
    this.#issued(pair, answered, { law: 3, earlier, of: consented, from: undefined })
    this.#history.count("exchanges")
  }

  /** Adds a pair, or sees that it is the answer to an equal request once more (law 1b). */
  #issued(
    pair: Pair,
    { began, offset, ...answered }: Answered,
    { earlier, law, ...origin }: Pick<Issued, "from" | "of"> & { readonly earlier: Issued | undefined; law: number }
  ): void {
    if (earlier === undefined) {
      pair.issued.push({ ...answered, ...origin, refreshedAt: Infinity })
      return
    }
    const isSame = Equal.equals(earlier.refresh, answered.refresh) && Equal.equals(earlier.access, answered.access)
    const check = (isGood: boolean, what: string) =>
      this.#history.check(law, isGood, () => `${this.#name(pair)}: ${what}`)
    check(isSame, law === 3 ? "one code was exchanged twice" : "one refresh token succeeded twice")
    check(began <= earlier.refreshedAt, "a request was repeated after the tokens of its answer were used")
    const ends = earlier.createdAt + Duration.toMillis(this.#policy.refreshRetry)
    check(began + offset < ends, "a request was repeated after its time")
    this.#history.count("repeats")
  }

  /** Whether every node still knows the code as used: the clocks of the nodes differ by less than a minute. */
  isKnown({ begin }: Consented): boolean {
    return this.#history.now() - begin < Duration.toMillis(this.#policy.codeLifetime) - 60_000
  }

  refreshed(pair: Pair, used: Issued, answered: Answered): void {
    const earlier = pair.issued.find(({ from }) => from === used)
    this.#issued(pair, answered, { law: 1, earlier, of: used.of, from: used })
    used.refreshedAt = Math.min(used.refreshedAt, this.#history.now())
    this.#history.count("refreshes")
  }

  /** What must be accepted was refused. */
  refused(pair: Pair, law: number, of: Consented, what: string): void {
    this.#history.check(law, !of.isSure || of.isDead, () => `${this.#name(pair)}: ${what}, and nothing had ended it`)
  }

  /** An access token was accepted by a node when its clock showed `at`. `begin` is the true time. */
  accepted(pair: Pair, { createdAt, of }: Issued, at: number, wasDead: boolean): void {
    this.#history.check(
      2,
      !wasDead || !of.isDead,
      () => `${this.#name(pair)}: an access token was accepted after it was revoked`
    )
    this.#history.check(
      2,
      at < createdAt + Duration.toMillis(this.#policy.accessTokenLifetime),
      () => `${this.#name(pair)}: an access token was accepted after its lifetime`
    )
    this.#history.count("calls")
  }

  /** Everything that was consented to before `begin` has ended, and its tokens with it. */
  revoked(pair: Pair, begin: number): ReadonlyArray<Issued> {
    for (const consented of pair.consents) if (consented.end <= begin) consented.isDead = true
    this.#history.count("revocations")
    return this.dead(pair)
  }

  died(pair: Pair, consented: Consented): ReadonlyArray<Issued> {
    consented.isDead = true
    return this.dead(pair)
  }

  dead(pair: Pair): ReadonlyArray<Issued> {
    return pair.issued.filter(({ of }) => of.isDead).slice(-20)
  }

  #name({ application, user }: Pair): string {
    return `application ${application} and user ${user}`
  }
}
