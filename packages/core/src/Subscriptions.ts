/** The webhook subscription of an application (requirements §4.6 to §4.9). */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { ApplicationId, ApplicationNotFound } from "./Application.ts"
import { Audit, Entry } from "./Audit.ts"
import { Callbacks, within } from "./Callbacks.ts"
import type { BearerAccess } from "./Grant.ts"
import { DeliveryStore, type LogEntry, type LogRequest, type UnknownPosition } from "./Delivery.ts"
import { Policy } from "./Policy.ts"
import { Secrets } from "./Secrets.ts"
import { changing, foundOr, type StoreError } from "./Store.ts"
import * as Subscription from "./Subscription.ts"
import { AlreadySubscribed, SubscriptionNotFound, SubscriptionStore, type ValidationFailed } from "./Subscription.ts"

/** Only an access token of a registration-platform user may manage subscriptions (requirements §5.8). */
export class NotPlatformUser extends Schema.TaggedError<NotPlatformUser>()("@startlist/core/NotPlatformUser", {}) {}

/** The access token lacks the scope to which the webhook interface is bound (RFC 6750 §3.1). */
export class InsufficientScope extends Schema.TaggedError<InsufficientScope>()("@startlist/core/InsufficientScope", {
  /** The required scope. */
  scope: Schema.String
}) {}

/** An access token does not give access to the webhook interface. */
export type NotEntitled = NotPlatformUser | InsufficientScope

/** Checks the role (requirements §5.8) and the scope that `Policy.webhookScope` asks for. */
export const entitled = (access: BearerAccess, { webhookScope }: Policy.Service): Either.Either<void, NotEntitled> => {
  if (access.role !== "platform") return Either.left(new NotPlatformUser())
  if (Option.isSome(webhookScope) && !access.scope.includes(webhookScope.value)) {
    return Either.left(new InsufficientScope({ scope: webhookScope.value }))
  }
  return Either.void
}

/** The callback URL is too long, not a URL, has a scheme that is not allowed, or must be spelt in another way. */
export class InvalidCallbackUrl extends Schema.TaggedError<InvalidCallbackUrl>()("@startlist/core/InvalidCallbackUrl", {
  reason: Schema.Literal("too_long", "invalid", "international_name", "trailing_dot", "characters")
}) {}

/** A requested subscription. The validation contains the verify token, which is not stored. */
export interface Wanted {
  readonly callbackUrl: string
  readonly verifyToken: Redacted.Redacted<string>
}

/**
 * Subscribes applications to events: with an access token, or for owners and operators.
 * @example
 * ```ts
 * import { type Application, Subscriptions } from "@startlist/core"
 * import { Effect } from "effect"
 * export const find = (id: Application.ApplicationId) =>
 *   Effect.flatMap(Subscriptions.Subscriptions, (subscriptions) => subscriptions.findByApplication(id))
 * ```
 */
export class Subscriptions
  extends Context.Tag("@startlist/core/Subscriptions")<Subscriptions, Subscriptions.Service>()
{}

export declare namespace Subscriptions {
  export interface Service extends Pick<SubscriptionStore.Service, "findByApplication" | "list"> {
    /** Validates the callback, then subscribes the application of this access token. */
    readonly create: (access: BearerAccess, wanted: Wanted) => Effect.Effect<
      Subscription.Subscription,
      NotEntitled | InvalidCallbackUrl | AlreadySubscribed | ApplicationNotFound | ValidationFailed | StoreError
    >
    /** The subscription of the application of this access token. */
    readonly find: (
      access: BearerAccess
    ) => Effect.Effect<Subscription.Subscription, NotEntitled | SubscriptionNotFound | StoreError>
    /** Ends the subscription (only `id`, if given) and its pending deliveries. Then no attempt is claimed. */
    readonly remove: (
      access: BearerAccess,
      id: Option.Option<number>
    ) => Effect.Effect<void, NotEntitled | SubscriptionNotFound | StoreError>
    /** The log of the application's events (law 12), each with the state of its repeat, if it was not delivered itself. */
    readonly events: (
      access: BearerAccess,
      page: Pick<LogRequest, "after" | "limit">
    ) => Effect.Effect<ReadonlyArray<LogEntry>, NotEntitled | UnknownPosition | StoreError>
    /** The same as `create`. This and the following methods need no access token: for owners and operators. */
    readonly subscribe: (id: ApplicationId, wanted: Wanted) => Effect.Effect<
      Subscription.Subscription,
      InvalidCallbackUrl | AlreadySubscribed | ApplicationNotFound | ValidationFailed | StoreError
    >
    /** Pauses the subscription. No attempt is claimed after this returns, and events wait in order. */
    readonly pause: (
      id: ApplicationId,
      by: Subscription.Party
    ) => Effect.Effect<Subscription.Subscription, SubscriptionNotFound | StoreError>
    /** Resumes the subscription and delivers the events that waited. */
    readonly resume: (
      id: ApplicationId,
      by: Subscription.Party
    ) => Effect.Effect<Subscription.Subscription, SubscriptionNotFound | Subscription.PausedByOperator | StoreError>
    /** Ends the application's subscription (only `subscription`, if given) like `remove`. */
    readonly end: (
      id: ApplicationId,
      subscription: Option.Option<number>
    ) => Effect.Effect<void, SubscriptionNotFound | StoreError>
  }
}

const make = Effect.gen(function*() {
  const store = yield* SubscriptionStore
  const audit = yield* Audit
  const callbacks = yield* Callbacks
  const deliveries = yield* DeliveryStore
  const secrets = yield* Secrets
  const policy = yield* Policy

  const findByApplication = (id: ApplicationId) =>
    foundOr(store.findByApplication(id), () => new SubscriptionNotFound())

  const subscribe = Effect.fn("Subscriptions.subscribe")(function*(
    applicationId: ApplicationId,
    { callbackUrl, verifyToken }: Wanted
  ) {
    if (callbackUrl.length > 255) return yield* new InvalidCallbackUrl({ reason: "too_long" })
    const problem = Option.getOrUndefined(callbacks.problem(callbackUrl))
    if (problem !== undefined) return yield* new InvalidCallbackUrl({ reason: problem })
    if (Option.isSome(yield* store.findByApplication(applicationId))) return yield* new AlreadySubscribed()

    const challenge = Redacted.value(yield* secrets.make("challenge"))
    const timeout = policy.callbackTimeout
    const validation = { callbackUrl, challenge, verifyToken, timeout }
    const answer = yield* within(timeout)(Effect.suspend(() => callbacks.validate(validation)))
    yield* audit.record(Entry.CallbackValidated({ answer }))
    yield* Subscription.validate(answer, challenge)

    const now = yield* DateTime.now
    return yield* store.insert({ applicationId, callbackUrl, createdAt: now, updatedAt: now })
  })

  /** Checks that this access token may manage the subscription of its application. */
  const ofAccess = (access: BearerAccess) => Effect.as(entitled(access, policy), access.applicationId)

  const end = Effect.fn("Subscriptions.end")(function*(applicationId: ApplicationId, id: Option.Option<number>) {
    const subscription = yield* findByApplication(applicationId)
    if (Option.isSome(id) && id.value !== subscription.id) return yield* new SubscriptionNotFound()
    const removed = yield* store.remove(subscription.id, yield* DateTime.now)
    if (!removed) return yield* new SubscriptionNotFound()
  })

  const pause = Effect.fn("Subscriptions.pause")((id: ApplicationId, by: Subscription.Party) =>
    changing(findByApplication(id), store.save, (present, now) => Effect.succeed(Subscription.pause(present, by, now)))
  )

  const resume = Effect.fn("Subscriptions.resume")((id: ApplicationId, by: Subscription.Party) =>
    changing(findByApplication(id), store.save, (present, now) => Subscription.resume(present, by, now))
  )

  const events = Effect.fn("Subscriptions.events")(
    function*(access: BearerAccess, page: Pick<LogRequest, "after" | "limit">) {
      const entries = yield* deliveries.log({ ...page, applicationId: yield* ofAccess(access) })
      const undelivered = entries.map(({ delivery }) => delivery).filter(({ state }) => state !== "delivered")
      const repeats = yield* deliveries.repeats(undelivered)
      return entries.map(({ delivery, position }) => ({
        position,
        delivery: { ...delivery, state: repeats.get(delivery.id)?.state ?? delivery.state }
      }))
    }
  )

  return Subscriptions.of({
    create: (access, wanted) => Effect.flatMap(ofAccess(access), (id) => subscribe(id, wanted)),
    end,
    events,
    find: (access) => Effect.flatMap(ofAccess(access), findByApplication),
    findByApplication: store.findByApplication,
    list: store.list,
    pause,
    remove: (access, id) => Effect.flatMap(ofAccess(access), (applicationId) => end(applicationId, id)),
    resume,
    subscribe
  })
})

/** The service over its ports. */
export const layer = Layer.effect(Subscriptions, make)
