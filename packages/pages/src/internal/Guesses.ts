/** Limits the number of wrong passwords. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Duration from "effect/Duration"
import type { Request } from "@startlist/http/Message"
import { HttpConfig } from "@startlist/http/HttpConfig"
import { browserKeys, loginKeys, LoginLimit, Throttle } from "@startlist/http/Throttle"
import { Accounts } from "../Accounts.ts"
import { deviceOf } from "../Sessions.ts"

export interface Guesses {
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

export const make: Effect.Effect<Guesses, never, Accounts | Throttle> = Effect.gen(function*() {
  const accounts = yield* Accounts
  const throttle = yield* Throttle
  const limits = yield* LoginLimit
  const config = yield* HttpConfig
  return {
    limited: (request, email, check, isWrong) =>
      Effect.gen(function*() {
        const device = deviceOf(request, config)
        const browser = Option.isSome(device) ? yield* accounts.recognizeBrowser(device.value, email) : Option.none()
        const keys = Option.isSome(browser)
          ? browserKeys(limits, email, browser.value)
          : loginKeys(limits, email, request.address)
        const wait = yield* throttle.take(keys)
        if (Option.isSome(wait)) return { wait: wait.value }
        const checked = yield* Effect.tapError(check, () => throttle.giveBack(keys))
        if (!isWrong(checked)) yield* throttle.giveBack(keys)
        return { checked }
      })
  }
})
