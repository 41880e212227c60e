/** The webhook subscription of an application, made only after its callback has answered the challenge. */
import * as Context from "effect/Context"
import type * as DateTime from "effect/DateTime"
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ApplicationId, type ApplicationNotFound } from "./Application.ts"
import { type Answer, outcomes } from "./Callbacks.ts"
import { type Conflict, maxId, type StoreError, Version } from "./Store.ts"

/** Identifies a subscription (requirements §2.3). A positive integer below 2^53, never used twice. */
export const SubscriptionId = Schema.Int.pipe(Schema.between(1, maxId), Schema.brand("@startlist/SubscriptionId"))
export type SubscriptionId = typeof SubscriptionId.Type

/** The subscription of an application, whose callback has answered the challenge. */
export const Subscription = Schema.Struct({
  id: SubscriptionId,
  version: Version,
  applicationId: ApplicationId,
  /** At most 255 characters (requirements §8). */
  callbackUrl: Schema.NonEmptyString.pipe(Schema.maxLength(255)),
  /** Whether its events wait, in order, until it is resumed. */
  paused: Schema.Boolean,
  /** Whether only an operator can resume it. */
  pausedByOperator: Schema.Boolean,
  createdAt: Schema.DateTimeUtcFromNumber,
  updatedAt: Schema.DateTimeUtcFromNumber
})
export type Subscription = typeof Subscription.Type

/** A subscription without an identifier. The store gives one, and saves version 1, not paused. */
export const NewSubscription = Subscription.omit("id", "version", "paused", "pausedByOperator")
export type NewSubscription = typeof NewSubscription.Type

/** An application has at most one subscription (requirements §8). */
export class AlreadySubscribed
  extends Schema.TaggedError<AlreadySubscribed>()("@startlist/core/AlreadySubscribed", {})
{}

/** The application has no subscription, or not the named one. */
export class SubscriptionNotFound
  extends Schema.TaggedError<SubscriptionNotFound>()("@startlist/core/SubscriptionNotFound", {})
{}

/** An operator has paused the subscription, so its owner cannot resume it. */
export class PausedByOperator extends Schema.TaggedError<PausedByOperator>()("@startlist/core/PausedByOperator", {}) {}

/** The party that pauses or resumes a subscription. */
export type Party = "owner" | "operator"

/** Answer of a callback without its body: a validation must not let owners read the content of an address. */
export const Answered = Schema.Struct({
  status: Schema.Int,
  /** For example `text/html` (RFC 9110 §8.3.1). Empty if there was none. */
  mediaType: Schema.String
})
export type Answered = typeof Answered.Type

/** The callback failed the validation (requirements §4.7): the reason, and its answer if it arrived in time. */
export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("@startlist/core/ValidationFailed", {
  reason: Schema.Literal(
    "unreachable",
    "forbidden_address",
    "timeout",
    "wrong_status",
    "wrong_content_type",
    "wrong_body"
  ),
  answered: Schema.optionalWith(Answered, { exact: true }),
  /** Why it is `unreachable`, in words for the owner. */
  detail: Schema.optionalWith(Schema.String, { exact: true })
}) {}

/** Store of subscriptions. Every method is atomic. */
export class SubscriptionStore extends Context.Tag("@startlist/core/SubscriptionStore")<
  SubscriptionStore,
  SubscriptionStore.Service
>() {}

export declare namespace SubscriptionStore {
  export interface Service {
    /** Newest first. `after` starts after that identifier. */
    readonly list: (page: {
      readonly after: Option.Option<SubscriptionId>
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Subscription>, StoreError>
    /** The subscription of an application. */
    readonly findByApplication: (id: ApplicationId) => Effect.Effect<Option.Option<Subscription>, StoreError>
    /** Stores a new subscription and gives it an identifier, unless the application has ended or already has one. */
    readonly insert: (
      subscription: NewSubscription
    ) => Effect.Effect<Subscription, ApplicationNotFound | AlreadySubscribed | StoreError>
    /** Saves `next` over version `next.version - 1`. */
    readonly save: (next: Subscription) => Effect.Effect<void, Conflict | StoreError>
    /**
     * Also cancels its pending deliveries, claimed ones too, at `now`. Returns whether it existed. A store may cancel
     * all but the last few thousand before: then a failure leaves the subscription.
     */
    readonly remove: (id: SubscriptionId, now: DateTime.Utc) => Effect.Effect<boolean, StoreError>
  }
}

/** The subscription with these marks, or the same one if nothing changes. */
const marked = (
  subscription: Subscription,
  paused: boolean,
  pausedByOperator: boolean,
  now: DateTime.Utc
): Subscription =>
  subscription.paused === paused && subscription.pausedByOperator === pausedByOperator
    ? subscription
    : { ...subscription, paused, pausedByOperator, updatedAt: now, version: subscription.version + 1 }

/** Pauses a subscription. */
export const pause = (subscription: Subscription, by: Party, now: DateTime.Utc): Subscription =>
  marked(subscription, true, subscription.pausedByOperator || by === "operator", now)

/** Resumes a subscription. The owner does not end the pause of an operator. */
export const resume = (
  subscription: Subscription,
  by: Party,
  now: DateTime.Utc
): Either.Either<Subscription, PausedByOperator> =>
  subscription.pausedByOperator && by === "owner"
    ? Either.left(new PausedByOperator())
    : Either.right(marked(subscription, false, false, now))

/** Whether this answer proves the callback (requirements §4.7): one JSON object with exactly `hub.challenge`. */
export const validate = (answer: Answer, challenge: string): Either.Either<void, ValidationFailed> => {
  if (answer._tag !== "Answered") {
    const detail = answer._tag === "Unreachable" ? { detail: answer.detail } : {}
    return Either.left(new ValidationFailed({ reason: outcomes[answer._tag], ...detail }))
  }
  const answered = { status: answer.status, mediaType: mediaTypeOf(answer.contentType) }
  const failed = (reason: ValidationFailed["reason"]) => Either.left(new ValidationFailed({ reason, answered }))
  if (answer.status !== 200) return failed("wrong_status")
  if (!/^application\/json *(?:;|$)/i.test(answer.contentType)) return failed("wrong_content_type")
  return isChallenge(answer.body, challenge) ? Either.void : failed("wrong_body")
}

/** The media type of an untrusted header, without its parameters and with limited length. */
const mediaTypeOf = (contentType: string): string =>
  /^[\w!#$&^.+-]{1,60}\/[\w!#$&^.+-]{1,60}(?=[ ;,]|$)/.exec(contentType)?.[0].toLowerCase() ?? ""

const ChallengeBody = Schema.parseJson(Schema.Struct({ "hub.challenge": Schema.String }))
const decodeChallenge = Schema.decodeUnknownOption(ChallengeBody, { onExcessProperty: "error" })

const isChallenge = (body: string, challenge: string): boolean =>
  Option.exists(decodeChallenge(body.replace(/^\uFEFF/, "")), (answer) => answer["hub.challenge"] === challenge)
