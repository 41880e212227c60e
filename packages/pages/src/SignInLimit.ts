/** Limits on sign-ins and on wrong passwords. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { networkOf } from "@startlist/http/ClientAddress"
import { FailureLimit, type Key, type Limit } from "@startlist/http/FailureLimit"
import type { Request } from "@startlist/http/Http"
import { HttpConfig } from "@startlist/http/HttpConfig"
import { Accounts } from "./Accounts.ts"
import { deviceOf } from "./Sessions.ts"

export declare namespace PasswordLimits {
  export interface Service {
    /** For an account from one network, or from a browser that has signed in to it before. */
    readonly perAccountAndNetwork: Limit
    readonly perNetwork: Limit
    /** Anybody can reach the limit of an account, so its window is short. */
    readonly perAccount: Limit
  }
}

/** Limits on wrong passwords. Default: 10 and 100 in 5 minutes, and 30 in 15 minutes. */
export class PasswordLimits extends Context.Reference<PasswordLimits>()("@startlist/pages/PasswordLimits", {
  defaultValue: (): PasswordLimits.Service => ({
    perAccountAndNetwork: { count: 10, window: Duration.minutes(5) },
    perNetwork: { count: 100, window: Duration.minutes(5) },
    perAccount: { count: 30, window: Duration.minutes(15) }
  })
}) {}

/** Maximum length of an e-mail address (RFC 5321 §4.5.3.1). Longer input shares one counter, to save memory. */
const accountOf = (email: string): string => email.length > 320 ? "nobody" : email.toLowerCase()

/** The keys for a login from an unknown browser: that account from that network, the network, and the account. */
export const strangerKeys = (limits: PasswordLimits.Service, email: string, address: string): ReadonlyArray<Key> => [
  { limit: limits.perAccountAndNetwork, value: `login:${accountOf(email)}@${networkOf(address)}` },
  { limit: limits.perNetwork, value: `logins@${networkOf(address)}` },
  { limit: limits.perAccount, value: `login:${accountOf(email)}` }
]

/**
 * The key for a login from a browser that has signed in to this account before. Guesses from elsewhere do not count.
 */
const browserKeys = (limits: PasswordLimits.Service, email: string, browser: string): ReadonlyArray<Key> => [
  { limit: limits.perAccountAndNetwork, value: `login:${accountOf(email)}#${browser}` }
]

export interface SignInLimit {
  /**
   * Checks a password of the account with this e-mail address, and counts a wrong one. Above the limit, it returns the
   * time to wait. It counts before the slow check, so that parallel guesses cannot exceed the limit.
   */
  readonly limited: <A, E>(
    request: Request,
    email: string,
    check: Effect.Effect<A, E>,
    isWrong: (checked: A) => boolean
  ) => Effect.Effect<{ readonly wait: Duration.Duration } | { readonly checked: A }, E>
}

export const make: Effect.Effect<SignInLimit, never, Accounts | FailureLimit> = Effect.gen(function*() {
  const accounts = yield* Accounts
  const failures = yield* FailureLimit
  const limits = yield* PasswordLimits
  const config = yield* HttpConfig
  return {
    limited: (request, email, check, isWrong) =>
      Effect.gen(function*() {
        const device = deviceOf(request, config)
        const browser = Option.isSome(device) ? yield* accounts.recognizeBrowser(device.value, email) : Option.none()
        const keys = Option.isSome(browser)
          ? browserKeys(limits, email, browser.value)
          : strangerKeys(limits, email, request.address)
        const wait = yield* failures.take(keys)
        if (Option.isSome(wait)) return { wait: wait.value }
        const checked = yield* Effect.tapError(check, () => failures.giveBack(keys))
        if (!isWrong(checked)) yield* failures.giveBack(keys)
        return { checked }
      })
  }
})
