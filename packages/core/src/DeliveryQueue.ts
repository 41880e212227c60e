/** The queue of deliveries, from which workers claim. */
import * as Context from "effect/Context"
import type * as DateTime from "effect/DateTime"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { ApplicationId } from "./Application.ts"
import type { SigningSecret } from "./ApplicationSecret.ts"
import type { Delivery, DeliveryId } from "./Delivery.ts"
import type { Outgoing } from "./Event.ts"
import type { StoreError } from "./Store.ts"
import type { Subscription, SubscriptionId } from "./Subscription.ts"

/** A delivery that was claimed: it belongs to the holder of `token` until `leaseEnds`. */
export interface Claimed {
  readonly delivery: Delivery
  readonly subscription: Subscription
  /** All secrets of the application that sign it, newest first. */
  readonly signingSecrets: ReadonlyArray<SigningSecret>
  readonly token: string
  readonly leaseEnds: DateTime.Utc
  /** Number of claims since an outcome was recorded, this one included. Above 1, a worker died or could not record. */
  readonly claims: number
}

/** A request of a worker. */
export interface ClaimRequest {
  readonly now: DateTime.Utc
  readonly leaseEnds: DateTime.Utc
  /** A due time, or an end of a lease, after this instant has passed: the clock was set back since. Default: none. */
  readonly latest?: DateTime.Utc
  /** Unique for each claim. */
  readonly token: string
  readonly limit: number
  /** Maximum number of deliveries to one subscription. */
  readonly perSubscription: number
  /** Lower maximum of subscriptions with which this worker is already busy. */
  readonly allowances: ReadonlyMap<SubscriptionId, number>
}

/** A delivery after an attempt, and the claim of the attempt. */
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
     * Claims pending deliveries: due, without a live lease, the first of their object for their subscription (law 6).
     * Earliest due first, at most the allowance of each subscription, at most `limit`. Leaves out paused subscriptions,
     * suspended applications (law 14) and deliveries that cannot be signed. Counts the claims of each delivery. The
     * subscription and the secrets may be those of a moment later.
     */
    readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<Claimed>, StoreError>
    /**
     * Records attempts, ends the claims and resets their counts. Leaves out settlements whose claim is not the current
     * one: another worker claimed, or it was cancelled. Returns the recorded identifiers, each once.
     */
    readonly settle: (settlements: ReadonlyArray<Settlement>) => Effect.Effect<ReadonlyArray<DeliveryId>, StoreError>
    /**
     * Ends claims without an attempt and uncounts them. The deliveries are due at `dueAt`. Leaves out claims that are
     * not the current ones. Returns the released identifiers.
     */
    readonly release: (
      claims: ReadonlyArray<Pick<Claimed, "delivery" | "token">>,
      dueAt: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<DeliveryId>, StoreError>
    /** Hints from this or another node that there may be work. Hints may be lost, so workers also poll. */
    readonly wakeUps: Stream.Stream<void>
    /**
     * When the next delivery can be claimed, in milliseconds since 1970, by `latest` as in a claim: workers sleep until
     * then, and do not poll. Only for a store that loses no hint, and gives one beside every change that may free a
     * delivery, but for settlements and releases: their worker claims again, and others at the end of the lease.
     */
    readonly nextDue?: (latest: DateTime.Utc) => Effect.Effect<number>
    /** Queues deliveries of an embedding server's own events, all or nothing. Returns their identifiers. */
    readonly enqueue: (outgoing: ReadonlyArray<Outgoing>) => Effect.Effect<ReadonlyArray<DeliveryId>, StoreError>
    /**
     * Cancels pending deliveries to an application's subscription at `now`, also claimed ones: at most `limit`, newest
     * first. Returns their number. Those that another call ends at the same time need not be replaced by others.
     */
    readonly cancel: (id: ApplicationId, now: DateTime.Utc, limit: number) => Effect.Effect<number, StoreError>
    /**
     * Makes a new pending delivery of a stored one, to the same subscription, due at `now`. The log has only the first
     * one. Uses the stored event, which an erasure may have cleared. None if the delivery or its subscription is gone.
     * With `only`, none if it has a repeat, also in a race, or is a delivered repeat. `latest`: nor if an event of its
     * object with a larger sequence is pending or delivered to the subscription.
     */
    readonly again: (
      delivery: Delivery,
      now: DateTime.Utc,
      only?: "unrepeated" | "latest"
    ) => Effect.Effect<Option.Option<Delivery>, StoreError>
  }
}
