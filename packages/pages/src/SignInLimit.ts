/** Limits on sign-ins: wrong passwords, right ones, and passwords that are being checked. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { networkOf } from "@startlist/http/ClientAddress"
import { FailureLimit, type Key, type Limit, networkKeys, type Rate } from "@startlist/http/FailureLimit"
import type { Request } from "@startlist/http/Http"
import { HttpConfig } from "@startlist/http/HttpConfig"
import { Accounts } from "./Accounts.ts"
import { deviceOf } from "./Sessions.ts"

export declare namespace PasswordLimits {
  export interface Service {
    /** For an account from one network, or from a browser that has signed in to it before. */
    readonly perAccountAndNetwork: Rate
    /** For a network, over all accounts. */
    readonly perNetwork: Rate
    /** Anybody can reach the limit of an account, so its window is short. */
    readonly perAccount: Rate
  }
}

/**
 * Limits on wrong passwords. Default: 10 and 100 in 5 minutes, and 30 in 15 minutes.
 *
 * @example
 * ```ts
 * import { SignInLimit } from "@startlist/pages"
 * import { Duration, Layer } from "effect"
 *
 * // Half of the default.
 * export const layer = Layer.succeed(SignInLimit.PasswordLimits, {
 *   perAccountAndNetwork: { count: 5, window: Duration.minutes(5) },
 *   perNetwork: { count: 50, window: Duration.minutes(5) },
 *   perAccount: { count: 15, window: Duration.minutes(15) }
 * })
 * ```
 */
export class PasswordLimits extends Context.Reference<PasswordLimits>()("@startlist/pages/PasswordLimits", {
  defaultValue: (): PasswordLimits.Service => ({
    perAccountAndNetwork: { count: 10, window: Duration.minutes(5) },
    perNetwork: { count: 100, window: Duration.minutes(5) },
    perAccount: { count: 30, window: Duration.minutes(15) }
  })
}) {}

/** Right passwords of one account, from all browsers: a password check is the most expensive request. */
const rightLimit: Limit = { name: "right passwords of an account", count: 20, window: Duration.minutes(1) }

/** Passwords of one account that are checked at the same time. A check takes less than the window, even in a queue. */
const checkLimit: Limit = { name: "password checks of an account", count: 2, window: Duration.seconds(10) }
const networkCheckLimit: Limit = { name: "password checks of a network", count: 16, window: Duration.seconds(10) }

/** The time to wait if too many passwords are being checked. */
const shortly = Duration.seconds(1)

/** Maximum length of an e-mail address (RFC 5321 §4.5.3.1). Longer input shares one counter, to save memory. */
const accountOf = (email: string): string => email.length > 320 ? "nobody" : email.toLowerCase()

/** The keys for a wrong password from an unknown browser: that account from that network, the networks, the account. */
export const strangerKeys = (
  { perAccount, perAccountAndNetwork, perNetwork }: PasswordLimits.Service,
  email: string,
  address: string
): ReadonlyArray<Key> => [
  {
    limit: { name: "wrong passwords of an account from a network", ...perAccountAndNetwork },
    value: `${accountOf(email)}@${networkOf(address)}`
  },
  ...networkKeys({ name: "wrong passwords of a network", ...perNetwork }, address),
  { limit: { name: "wrong passwords of an account", ...perAccount }, value: accountOf(email) }
]

/** The key for a browser that has signed in to this account before. Wrong passwords from elsewhere do not count. */
const browserKeys = (
  { perAccountAndNetwork }: PasswordLimits.Service,
  email: string,
  browser: string
): ReadonlyArray<Key> => [
  {
    limit: { name: "wrong passwords of an account from a browser", ...perAccountAndNetwork },
    value: `${accountOf(email)}#${browser}`
  }
]

/** The outcome of a check, or the time to wait before the next one. */
export type Limited<A> = { readonly wait: Duration.Duration } | { readonly checked: A }

/** Checks passwords within limits. */
export interface SignInLimit {
  /**
   * Checks a password of the account with this e-mail address, and counts it. Above a limit, it returns the time to
   * wait. It counts before the slow check, so that parallel guesses cannot exceed the limit.
   */
  readonly limited: <A, E>(
    request: Request,
    email: string,
    check: Effect.Effect<A, E>,
    isWrong: (checked: A) => boolean
  ) => Effect.Effect<Limited<A>, E>
}

/** The limits over the counters of `FailureLimit`. */
export const make: Effect.Effect<SignInLimit, never, Accounts | FailureLimit | HttpConfig> = Effect.gen(function*() {
  const accounts = yield* Accounts
  const counters = yield* FailureLimit
  const limits = yield* PasswordLimits
  const config = yield* HttpConfig

  /**
   * Counts a check as a wrong and as a right password, runs it, and takes back what it was not. Only the check can be
   * interrupted: counting may take time.
   */
  const counted = <A, E>(
    wrong: ReadonlyArray<Key>,
    right: ReadonlyArray<Key>,
    check: Effect.Effect<A, E>,
    isWrong: (checked: A) => boolean
  ): Effect.Effect<Limited<A>, E> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const wait = yield* counters.take([...wrong, ...right])
        if (Option.isSome(wait)) return { wait: wait.value }
        const checked = yield* restore(check).pipe(
          Effect.tapError(() => counters.giveBack([...wrong, ...right])),
          // A stranger who disconnects must not use up the sign-ins of the account.
          Effect.onInterrupt(() => counters.giveBack(right))
        )
        yield* counters.giveBack(isWrong(checked) ? right : wrong)
        return { checked }
      })
    )

  return {
    limited: <A, E>(
      request: Request,
      email: string,
      check: Effect.Effect<A, E>,
      isWrong: (checked: A) => boolean
    ) =>
      Effect.gen(function*() {
        const device = deviceOf(request, config)
        const browser = Option.isSome(device) ? yield* accounts.recognizeBrowser(device.value, email) : Option.none()
        const wrong = Option.isSome(browser)
          ? browserKeys(limits, email, browser.value)
          : strangerKeys(limits, email, request.address)
        const right = [{ limit: rightLimit, value: accountOf(email) }]
        // The first limit, so that strangers who send many parallel guesses take no more than these from the others.
        const running = [
          { limit: checkLimit, value: accountOf(email) },
          ...networkKeys(networkCheckLimit, request.address)
        ]
        return yield* Effect.acquireUseRelease(
          counters.take(running),
          (wait) =>
            Option.isSome(wait)
              ? Effect.succeed<Limited<A>>({ wait: shortly })
              : counted(wrong, right, check, isWrong),
          (wait) => Option.isSome(wait) ? Effect.void : counters.giveBack(running)
        )
      })
  }
})
