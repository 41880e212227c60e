/**
 * Checks that events are saved with their deliveries, and how deliveries change (laws 4, 5 and 8).
 *
 * Observes every write once the store has made it. Moments count writes.
 */
import type { ApplicationId } from "@startlist/core/Application"
import type { Attempt, Delivery, DeliveryId } from "@startlist/core/Delivery"
import { body, type Event, type Outgoing } from "@startlist/core/Event"
import type { Policy } from "@startlist/core/Policy"
import type { Registration, RegistrationId } from "@startlist/core/Registration"
import type { SubscriptionId } from "@startlist/core/Subscription"
import type { UserId } from "@startlist/core/User"
import { attemptsFit, isSameObject } from "../deliveryChecks.ts"
import type { History } from "./History.ts"
import type { SubscriptionChecker } from "./SubscriptionChecker.ts"

/** Key of all deliveries of one event to one subscription. */
export const keyOf = (subscriptionId: SubscriptionId, eventId: string): string => `${subscriptionId}:${eventId}`

export type DeliveryChecker = ReturnType<typeof makeDeliveryChecker>

export const makeDeliveryChecker = (history: History, subscriptions: SubscriptionChecker, policy: Policy.Service) => {
  const all = new Map<DeliveryId, Delivery>()
  const pending = new Map<DeliveryId, Delivery>()
  const byKey = new Map<string, Array<DeliveryId>>()
  /** When each event was first saved. */
  const saved = new Map<string, number>()
  /** The subscriptions that each event is delivered to. */
  const notified = new Map<string, Set<SubscriptionId>>()
  const revocations = new Map<string, number>()
  const comments = new Set<string>()

  const isNew = ({ event, id, subscriptionId }: Delivery): void => {
    const key = keyOf(subscriptionId, event.id)
    byKey.set(key, [...(byKey.get(key) ?? []), id])
    notified.set(event.id, (notified.get(event.id) ?? new Set()).add(subscriptionId))
    const since = subscriptions.get(subscriptionId)?.since ?? Infinity
    const isLater = since > (saved.get(event.id) ?? Infinity)
    history.check(8, !isLater, `delivery ${id} is for subscription ${subscriptionId}, which was made after its event`)
    history.record(`delivery ${id} of ${event.id} to subscription ${subscriptionId} is queued`)
    history.count("deliveries")
  }

  const follows = (before: Delivery, after: Delivery): void => {
    const { attempts, id, state } = after
    const check = (law: number, holds: boolean, message: string) =>
      history.check(law, holds, `delivery ${id} ${message}`)
    history.record(`delivery ${id} is ${state} after ${attempts.length} attempts`)
    check(5, before.state === "pending", `was ${before.state} and is ${state} now`)
    const remembers = before.attempts.every((one, index) => one.at.epochMillis === attempts[index]?.at.epochMillis)
    check(5, remembers, "forgot an attempt that was recorded")
    const isSame = body(before.event, 0) === body(after.event, 0) && before.event.id === after.event.id
    check(5, isSame, "has another event now")
    const fits = attemptsFit(after, policy.deliveryDelays.length + 1)
    check(5, fits, `is ${state} after ${attempts.map(({ outcome }) => outcome).join(", ") || "no attempt"}`)
    if (state === "pending") return
    history.count(state)
    const isAllowed = state !== "cancelled" || subscriptions.isRemoved(after.subscriptionId)
    check(4, isAllowed, "is cancelled, and its subscription is there")
    const isUnchanged = state !== "set_aside" || before.attempts.length === attempts.length
    check(5, isUnchanged, "is set aside with an attempt that nobody made")
  }

  return {
    /** The deliveries that have not ended. */
    pending,
    /** The events of a save, and the subscriptions that they concern when it was made. */
    saved: (event: Event, concerned: ReadonlySet<SubscriptionId>): void => {
      if (!saved.has(event.id)) saved.set(event.id, history.moment)
      const found = notified.get(event.id) ?? new Set()
      for (const id of concerned) {
        history.check(4, found.has(id), `${event.id} was saved without its delivery to subscription ${id}`)
      }
      for (const id of found) {
        history.check(4, concerned.has(id), `${event.id} is delivered to subscription ${id}, which it does not concern`)
      }
    },
    isSaved: (eventId: string): boolean => saved.has(eventId),
    /** A revocation was saved with this event. */
    revoked: (applicationId: ApplicationId, { objectId }: Event): void =>
      void revocations.set(`${applicationId}:${objectId}`, history.moment),
    /** When the last event about this user's revocation was saved. */
    lastRevocation: (applicationId: ApplicationId, userId: UserId): number =>
      revocations.get(`${applicationId}:${userId}`) ?? -1,
    /** A registration was saved with these events. */
    changed: ({ id, updates }: Registration, outgoing: ReadonlyArray<Outgoing>): void => {
      const { comment } = updates
      const isQueued = outgoing.some(({ event }) => "comment" in event.updates && event.updates.comment === comment)
      history.check(4, isQueued, `a change of registration ${id} was saved without its event`)
      comments.add(`${id}:${comment}`)
    },
    hasComment: (id: RegistrationId, comment: string): boolean => comments.has(`${id}:${comment}`),
    has: (id: DeliveryId): boolean => all.has(id),
    /** The deliveries of one event to one subscription, see `keyOf`. */
    of: (key: string): ReadonlyArray<Delivery> => (byKey.get(key) ?? []).flatMap((id) => all.get(id) ?? []),
    /** Pending deliveries about the same object to the same subscription that were queued before this one. */
    before: (delivery: Delivery): ReadonlyArray<Delivery> =>
      [...pending.values()].filter((one) => one.id < delivery.id && isSameObject(one, delivery)),
    /** Compares a delivery with its earlier state. Returns the attempts that were recorded since. */
    observed: (delivery: Delivery): ReadonlyArray<Attempt> => {
      const { attempts, id, state, subscriptionId } = delivery
      const before = all.get(id)
      all.set(id, delivery)
      if (state === "pending") pending.set(id, delivery)
      else pending.delete(id)
      if (before === undefined) isNew(delivery)
      else if (before.state !== state || before.attempts.length !== attempts.length) follows(before, delivery)
      const isLeft = state === "pending" && subscriptions.isRemoved(subscriptionId)
      history.check(8, !isLeft, `delivery ${id} is still pending, and its subscription ${subscriptionId} was deleted`)
      return attempts.slice(before?.attempts.length ?? 0)
    }
  }
}
