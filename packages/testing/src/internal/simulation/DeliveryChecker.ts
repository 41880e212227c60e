/**
 * What was promised about events and their deliveries, and the checks of the laws 4, 5 and 8 about them.
 *
 * It learns of every write when the store has made it. Time is the true one, in milliseconds; what a node's clock
 * showed is said so.
 */
import type { ApplicationId } from "@startlist/core/Application"
import type { Attempt, Delivery, DeliveryId } from "@startlist/core/Delivery"
import { body, type Event, type Outgoing } from "@startlist/core/Event"
import type { Policy } from "@startlist/core/Policy"
import type { Registration, RegistrationId } from "@startlist/core/Registration"
import type { SubscriptionId } from "@startlist/core/Subscription"
import type { UserId } from "@startlist/core/User"
import type { History } from "./History.ts"
import type { SubscriptionChecker } from "./SubscriptionChecker.ts"

/** What all deliveries of one event to one subscription have in common. */
export const keyOf = (subscriptionId: SubscriptionId, eventId: string): string => `${subscriptionId}:${eventId}`

export class DeliveryChecker {
  readonly #history: History
  readonly #subscriptions: SubscriptionChecker
  /** How many attempts a delivery has. */
  readonly #attempts: number
  readonly #all = new Map<DeliveryId, Delivery>()
  /** The deliveries that have not ended. */
  readonly pending = new Map<DeliveryId, Delivery>()
  readonly #byKey = new Map<string, Array<DeliveryId>>()
  /** When each event was first saved. */
  readonly #saved = new Map<string, number>()
  /** To whom each event is delivered. */
  readonly #told = new Map<string, Set<SubscriptionId>>()
  readonly #revocations = new Map<string, number>()
  readonly #comments = new Set<string>()

  constructor(history: History, subscriptions: SubscriptionChecker, policy: Policy.Service) {
    this.#history = history
    this.#subscriptions = subscriptions
    this.#attempts = policy.deliveryDelays.length + 1
  }

  /** The events of a save, and the subscriptions that they concern when it was made. */
  saved(event: Event, concerned: ReadonlySet<SubscriptionId>): void {
    if (!this.#saved.has(event.id)) this.#saved.set(event.id, this.#history.moment)
    const told = this.#told.get(event.id) ?? new Set()
    for (const id of concerned) {
      this.#history.check(4, told.has(id), () => `${event.id} was saved without its delivery to subscription ${id}`)
    }
    for (const id of told) {
      this.#history.check(
        4,
        concerned.has(id),
        () => `${event.id} is to be delivered to subscription ${id}, which it does not concern`
      )
    }
  }

  isSaved(eventId: string): boolean {
    return this.#saved.has(eventId)
  }

  /** A revocation was saved with this event. */
  told(applicationId: ApplicationId, { objectId }: Event): void {
    this.#revocations.set(`${applicationId}:${objectId}`, this.#history.moment)
  }

  /** When the last event about this user's revocation was saved. */
  toldOf(applicationId: ApplicationId, userId: UserId): number {
    return this.#revocations.get(`${applicationId}:${userId}`) ?? -1
  }

  /** A registration was saved with these events. */
  changed({ id, updates }: Registration, outgoing: ReadonlyArray<Outgoing>): void {
    const told = outgoing.some(({ event }) => "comment" in event.updates && event.updates.comment === updates.comment)
    this.#history.check(4, told, () => `a change of registration ${id} was saved without its event`)
    this.#comments.add(`${id}:${updates.comment}`)
  }

  hasComment(id: RegistrationId, comment: string): boolean {
    return this.#comments.has(`${id}:${comment}`)
  }

  has(id: DeliveryId): boolean {
    return this.#all.has(id)
  }

  /** The deliveries of one event to one subscription, see `keyOf`. */
  of(key: string): ReadonlyArray<Delivery> {
    return (this.#byKey.get(key) ?? []).flatMap((id) => this.#all.get(id) ?? [])
  }

  /** Pending deliveries about the same object to the same subscription that were queued before this one. */
  before({ event, id, subscriptionId }: Delivery): ReadonlyArray<Delivery> {
    return [...this.pending.values()].filter((one) =>
      one.id < id && one.subscriptionId === subscriptionId &&
      one.event.objectType === event.objectType && one.event.objectId === event.objectId
    )
  }

  /** Compares what the store holds with what it held before. Answers the attempts that were recorded since. */
  seen(delivery: Delivery): ReadonlyArray<Attempt> {
    const { attempts, id, state, subscriptionId } = delivery
    const before = this.#all.get(id)
    this.#all.set(id, delivery)
    if (state === "pending") this.pending.set(id, delivery)
    else this.pending.delete(id)
    if (before === undefined) this.#isNew(delivery)
    else if (before.state !== state || before.attempts.length !== attempts.length) this.#follows(before, delivery)
    this.#history.check(
      8,
      state !== "pending" || !this.#subscriptions.isRemoved(subscriptionId),
      () => `delivery ${id} is still pending, and its subscription ${subscriptionId} was deleted`
    )
    return attempts.slice(before?.attempts.length ?? 0)
  }

  #isNew({ event, id, subscriptionId }: Delivery): void {
    const key = keyOf(subscriptionId, event.id)
    this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), id])
    this.#told.set(event.id, (this.#told.get(event.id) ?? new Set()).add(subscriptionId))
    const since = this.#subscriptions.get(subscriptionId)?.since ?? Infinity
    this.#history.check(
      8,
      since <= (this.#saved.get(event.id) ?? Infinity),
      () => `delivery ${id} is for subscription ${subscriptionId}, which was made after its event`
    )
    this.#history.record(`delivery ${id} of ${event.id} to subscription ${subscriptionId} is queued`)
    this.#history.count("deliveries")
  }

  #follows(before: Delivery, after: Delivery): void {
    const { attempts, id, state } = after
    const check = (law: number, holds: boolean, message: string) =>
      this.#history.check(law, holds, () => `delivery ${id} ${message}`)
    const last = attempts.at(-1)?.outcome
    this.#history.record(`delivery ${id} is ${state} after ${attempts.length} attempts`)
    check(5, before.state === "pending", `was ${before.state} and is ${state} now`)
    const remembers = before.attempts.every((one, index) => one.at.epochMillis === attempts[index]?.at.epochMillis)
    check(5, remembers, "forgot an attempt that was recorded")
    const isSame = body(before.event, 0) === body(after.event, 0) && before.event.id === after.event.id
    check(5, isSame, "has another event now")
    check(5, attempts.length <= this.#attempts, `has ${attempts.length} attempts`)
    if (state === "pending") return
    this.#history.count(state)
    if (state === "cancelled") {
      check(4, this.#subscriptions.isRemoved(after.subscriptionId), "is cancelled, and its subscription is there")
      return
    }
    if (state === "set_aside") {
      check(5, before.attempts.length === attempts.length, "is set aside with an attempt that nobody made")
      return
    }
    check(4, (last === "delivered") === (state === "delivered"), `is ${state}, and its last attempt was ${last}`)
    const isAllowed = state === "delivered" || attempts.length === this.#attempts
    check(4, isAllowed, `is exhausted after ${attempts.length} attempts`)
  }
}
