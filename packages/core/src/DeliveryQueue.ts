/** The queue of deliveries: what workers claim and settle, and what puts deliveries into it. */
import * as Context from "effect/Context"
import type * as DateTime from "effect/DateTime"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { ApplicationId, SigningSecret } from "./Application.ts"
import type { Delivery, DeliveryId } from "./Delivery.ts"
import type { Outgoing } from "./Event.ts"
import type { StoreError } from "./Store.ts"
import type { Subscription, SubscriptionId } from "./Subscription.ts"

/** A delivery that was claimed: it belongs to the holder of `token` until `leaseEnds`. */
export interface Claimed {
  readonly delivery: Delivery
  readonly subscription: Subscription
  /** What signs it, newest first: all secrets of the application, none of them left out. */
  readonly signingSecrets: ReadonlyArray<SigningSecret>
  readonly token: string
  readonly leaseEnds: DateTime.Utc
  /** Number of claims since an outcome was recorded, this one included: above 1, a worker was lost or not heard. */
  readonly claims: number
}

/** What a worker asks for. */
export interface ClaimRequest {
  readonly now: DateTime.Utc
  readonly leaseEnds: DateTime.Utc
  /** Fresh for each claim. */
  readonly token: string
  readonly limit: number
  /** How many to one subscription. */
  readonly perSubscription: number
  /** Subscriptions that may have fewer than that now, because this worker is busy with them. */
  readonly allowances: ReadonlyMap<SubscriptionId, number>
}

/** A delivery as it is after an attempt, and the claim under which the attempt was made. */
export interface Settlement {
  readonly delivery: Delivery
  readonly token: string
}

/** Pending deliveries, claimed for a time. Every method is atomic. */
export class DeliveryQueue extends Context.Tag("@startlist/core/DeliveryQueue")<
  DeliveryQueue,
  DeliveryQueue.Service
>() {}

export declare namespace DeliveryQueue {
  export interface Service {
    /**
     * Claims pending deliveries: due, not under a live lease, the first of their object for their subscription
     * (law 6), earliest due first, at most the allowance of each subscription, at most `limit`. Leaves out what waits
     * because its subscription is paused, or its application suspended (law 14). No two claims get
     * the same delivery while its lease lives. Counts the claims of each delivery that it returns; a settlement starts
     * the count again. Leaves out what cannot be signed, and does not count that.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<Claimed>, StoreError>
    /**
     * Records attempts and ends the claims. A settlement whose claim is no longer the delivery's own (the lease
     * went to another worker, or the delivery was cancelled) is left out. Answers the identifiers that were recorded.
     */
    readonly settle: (settlements: ReadonlyArray<Settlement>) => Effect.Effect<ReadonlyArray<DeliveryId>, StoreError>
    /**
     * Ends claims under which nothing was attempted, as if they had not been made; the deliveries are due at `dueAt`.
     * Leaves out those whose claim is no longer their own. Answers the identifiers of the others.
     */
    readonly release: (
      claims: ReadonlyArray<Pick<Claimed, "delivery" | "token">>,
      dueAt: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<DeliveryId>, StoreError>
    /** A hint that there may be work, from this or another node. Never the truth: workers poll besides. */
    readonly wakeUps: Stream.Stream<void>
    /**
     * Queues the deliveries of events about something that is kept elsewhere; all of them or none. Answers their
     * identifiers.
     */
    readonly enqueue: (outgoing: ReadonlyArray<Outgoing>) => Effect.Effect<ReadonlyArray<DeliveryId>, StoreError>
    /**
     * Cancels pending deliveries to an application's subscription at `now`, claimed ones too: at most `limit`, newest
     * first. Answers how many.
     */
    readonly cancel: (
      id: ApplicationId,
      now: DateTime.Utc,
      limit: number
    ) => Effect.Effect<number, StoreError>
    /**
     * A new pending delivery of the same event to the same subscription, due at `now`; the log of events has the first
     * one only. None if that subscription is gone. With `id`, what is stored of the event by then: an erasure may have
     * cleared it since it was read.
     */
    readonly again: (
      delivery: Pick<Delivery, "applicationId" | "subscriptionId" | "event"> & Partial<Pick<Delivery, "id">>,
      now: DateTime.Utc
    ) => Effect.Effect<Option.Option<Delivery>, StoreError>
  }
}
