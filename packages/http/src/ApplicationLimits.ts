/**
 * Limits on applications: on the authenticated requests of each, which an operator sets, on what one owner of applications
 * can cause, and on validations of callbacks.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Application, ApplicationId } from "@startlist/core/Application"
import { Policy } from "@startlist/core/Policy"
import type { UserId } from "@startlist/core/User"
import { FailureLimit, type Key, type Rate } from "./FailureLimit.ts"
import type { Request } from "./Http.ts"
import { Busy, TooMany } from "./Refusal.ts"

/** The limited uses: `delivery` is a redelivery or a test event, `backlog` the redelivery of everything that failed. */
export type Use = "validation" | "delivery" | "backlog" | "application"

const limits: Readonly<Record<Use, Rate>> = {
  validation: { count: 10, window: Duration.minutes(1) },
  delivery: { count: 60, window: Duration.minutes(1) },
  backlog: { count: 6, window: Duration.minutes(1) },
  application: { count: 30, window: Duration.hours(1) }
}

/** Maximum number of validations at the same time: slow callbacks must not block the requests of others. */
const maxRunning = 64

/** Time for a validation besides that of the callback: then it counts as ended, because its process has ended. */
const validationGrace = Duration.seconds(5)

/** No request was sent to the callback. */
const isBeforeValidation = ({ _tag }: { readonly _tag: string }): boolean => _tag !== "@startlist/core/ValidationFailed"

/** Admits what applications and their owners cause, within limits. */
export interface ApplicationLimits {
  /** Names the application of an authenticated request. If the application has a limit, counts the request. */
  readonly admit: (
    request: Pick<Request, "onApplication">,
    id: ApplicationId,
    perMinute: number | undefined
  ) => Effect.Effect<void, TooMany>
  /** Runs `effect` as one use by this owner, or fails with `TooMany`. A use that fails is not counted if `isFree` says so. */
  readonly spend: <A, E, R>(
    use: Use,
    owner: UserId,
    effect: Effect.Effect<A, E, R>,
    isFree?: (error: E) => boolean
  ) => Effect.Effect<A, E | TooMany, R>
  /** Runs the validation of an application as a use by its owner, if the application has no other one running. */
  readonly validate: <A, E extends { readonly _tag: string }, R>(
    application: Pick<Application, "id" | "ownerId">,
    validation: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | TooMany | Busy, R>
}

/** Makes the limits. All that count by the same `FailureLimit` share them. */
export const make: Effect.Effect<ApplicationLimits, never, FailureLimit> = Effect.gen(function*() {
  const counters = yield* FailureLimit
  const { callbackTimeout } = yield* Policy

  const spend: ApplicationLimits["spend"] = Effect.fnUntraced(function*(use, owner, effect, isFree = () => true) {
    const keys = [{ limit: { name: `${use} of an owner`, ofInstallation: true, ...limits[use] }, value: String(owner) }]
    const wait = yield* counters.take(keys)
    if (Option.isSome(wait)) return yield* TooMany.after(wait.value)
    return yield* Effect.tapError(effect, (error) => isFree(error) ? counters.giveBack(keys) : Effect.void)
  })

  const window = Duration.sum(callbackTimeout, validationGrace)
  const all: Key = {
    limit: { name: "running validations", ofInstallation: true, count: maxRunning, window },
    value: "all"
  }

  /** Takes the right to run a validation. */
  const begin = Effect.fnUntraced(function*({ id }: Pick<Application, "id">) {
    const own: Key = {
      limit: { name: "running validation of an application", ofInstallation: true, count: 1, window },
      value: String(id)
    }
    if (Option.isSome(yield* counters.take([own]))) {
      return yield* TooMany.after(Duration.max(callbackTimeout, Duration.seconds(1)))
    }
    if (Option.isNone(yield* counters.take([all]))) return [own, all]
    yield* counters.giveBack([own])
    return yield* new Busy()
  })

  return {
    admit: makeAdmit(counters),
    spend,
    validate: (application, validation) =>
      Effect.acquireUseRelease(
        begin(application),
        () => spend("validation", application.ownerId, validation, isBeforeValidation),
        counters.giveBack
      )
  }
})

const requestKey = (id: ApplicationId, count: number): Key => ({
  limit: { name: "requests of an application", ofInstallation: true, count, window: Duration.minutes(1) },
  value: String(id)
})

/** A refusal of all requests until the end of the minute, unless the limit changes. */
interface Refused {
  readonly perMinute: number
  readonly since: number
  readonly until: number
}

const makeAdmit = ({ take }: FailureLimit.Service): ApplicationLimits["admit"] => {
  // Without it, an application over its limit would cost a statement for each of its requests.
  const refusals = new Map<ApplicationId, Refused>()
  // A request counts once, also if its application is found twice. The values are the limits by which they were counted.
  const counted = new WeakMap<object, number>()

  const count = Effect.fnUntraced(function*(request: object, id: ApplicationId, perMinute: number) {
    if (counted.get(request) === perMinute) return
    const now = yield* Clock.currentTimeMillis
    const known = refusals.get(id)
    // Before it began if the clock was set back.
    if (known !== undefined && known.perMinute === perMinute && known.since <= now && now < known.until) {
      return yield* TooMany.after(Duration.millis(known.until - now))
    }
    const wait = yield* take([requestKey(id, perMinute)])
    if (Option.isNone(wait)) {
      counted.set(request, perMinute)
      return
    }
    refusals.set(id, { perMinute, since: now, until: now + Duration.toMillis(wait.value) })
    return yield* TooMany.after(wait.value)
  })

  return (request, id, perMinute) => {
    request.onApplication?.(id)
    return perMinute === undefined ? Effect.void : count(request, id, perMinute)
  }
}
