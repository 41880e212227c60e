/** Limits on the requests of single applications, which an operator sets. Only authenticated requests are counted. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ApplicationId } from "@startlist/core/Application"
import { FailureLimit, type Key } from "../FailureLimit.ts"
import type { Request } from "../Http.ts"
import { TooMany } from "../Refusal.ts"

/** Names the application of a request. If the application has a limit, counts the request. */
export type Admit = (
  request: Pick<Request, "onApplication">,
  id: ApplicationId,
  perMinute: number | undefined
) => Effect.Effect<void, TooMany>

const keyOf = (id: ApplicationId, count: number): Key => ({
  limit: { name: "requests of an application", ofInstallation: true, count, window: Duration.minutes(1) },
  value: String(id)
})

/** A refusal of all requests until the end of the minute, unless the limit changes. */
interface Refusal {
  readonly perMinute: number
  readonly until: number
}

/** Makes the check over the counters of `FailureLimit`. */
export const make: Effect.Effect<Admit, never, FailureLimit> = Effect.map(FailureLimit, ({ take }) => {
  // Without it, an application over its limit would cost a statement for each of its requests.
  const refusals = new Map<ApplicationId, Refusal>()
  // A request counts once, also if its application is found twice. The values are the limits by which they were counted.
  const counted = new WeakMap<object, number>()

  const count = Effect.fnUntraced(function*(request: object, id: ApplicationId, perMinute: number) {
    if (counted.get(request) === perMinute) return
    const now = yield* Clock.currentTimeMillis
    const known = refusals.get(id)
    if (known !== undefined && known.perMinute === perMinute && known.until > now) {
      return yield* TooMany.after(Duration.millis(known.until - now))
    }
    const wait = yield* take([keyOf(id, perMinute)])
    if (Option.isNone(wait)) {
      counted.set(request, perMinute)
      return
    }
    refusals.set(id, { perMinute, until: now + Duration.toMillis(wait.value) })
    return yield* TooMany.after(wait.value)
  })

  return (request, id, perMinute) => {
    request.onApplication?.(id)
    return perMinute === undefined ? Effect.void : count(request, id, perMinute)
  }
})
