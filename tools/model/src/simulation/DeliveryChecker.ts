/** Checks how deliveries change (laws 4, 5 and 8). Observes every write once the store has made it. */
import type { Attempt, Delivery, DeliveryId } from "@startlist/core/Delivery"
import { body } from "@startlist/core/Event"
import type { Policy } from "@startlist/core/Policy"
import type { SubscriptionId } from "@startlist/core/Subscription"
import { attemptsFit, isSameObject, objectOf, sequencesGrow } from "../deliveryChecks.ts"
import type { History } from "./History.ts"
import type { Oracle } from "./Oracle.ts"

/** Key of all deliveries of one event to one subscription. */
export const keyOf = (subscriptionId: SubscriptionId, eventId: string): string => `${subscriptionId}:${eventId}`

export type DeliveryChecker = ReturnType<typeof makeDeliveryChecker>

const isRemoved = (oracle: Oracle, id: SubscriptionId) => oracle.subscription(id)?.isRemoved === true

export const makeDeliveryChecker = (history: History, oracle: Oracle, policy: Policy.Service) => {
  const known = new Map<DeliveryId, Delivery>()
  const pending = new Map<DeliveryId, Delivery>()
  const byKey = new Map<string, Array<DeliveryId>>()
  const byObject = new Map<string, ReadonlyArray<Delivery>>()
  const isNew = (delivery: Delivery): void => {
    const { event, id, subscriptionId } = delivery
    const key = keyOf(subscriptionId, event.id)
    const object = objectOf(delivery)
    const same = [...(byObject.get(object) ?? []), delivery].sort((a, b) => a.id - b.id)
    byObject.set(object, same)
    history.check(
      6,
      sequencesGrow(same),
      `the sequence of ${event.id}, ${event.sequence}, is not larger than earlier ones`
    )
    byKey.set(key, [...(byKey.get(key) ?? []), id])
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
    const isAllowed = state !== "cancelled" || isRemoved(oracle, after.subscriptionId)
    check(4, isAllowed, "is cancelled, and its subscription is there")
    const isUnchanged = state !== "set_aside" || before.attempts.length === attempts.length
    check(5, isUnchanged, "is set aside with an attempt that nobody made")
  }

  return {
    /** The deliveries that have not ended. */
    pending,
    /** All deliveries ever, oldest first. */
    all: (): ReadonlyArray<Delivery> => [...known.values()],
    has: (id: DeliveryId): boolean => known.has(id),
    /** The deliveries of one event to one subscription, see `keyOf`. */
    of: (key: string): ReadonlyArray<Delivery> => (byKey.get(key) ?? []).flatMap((id) => known.get(id) ?? []),
    /** Pending deliveries about the same object to the same subscription that were queued before this one. */
    before: (delivery: Delivery): ReadonlyArray<Delivery> =>
      [...pending.values()].filter((one) => one.id < delivery.id && isSameObject(one, delivery)),
    /** Compares a delivery with its earlier state. Returns the attempts that were recorded since. */
    observed: (delivery: Delivery): ReadonlyArray<Attempt> => {
      const { attempts, id, state, subscriptionId } = delivery
      const before = known.get(id)
      known.set(id, delivery)
      if (state === "pending") pending.set(id, delivery)
      else pending.delete(id)
      if (before === undefined) isNew(delivery)
      else if (before.state !== state || before.attempts.length !== attempts.length) follows(before, delivery)
      const isLeft = state === "pending" && isRemoved(oracle, subscriptionId)
      history.check(8, !isLeft, `delivery ${id} is still pending, and its subscription ${subscriptionId} was deleted`)
      return attempts.slice(before?.attempts.length ?? 0)
    }
  }
}
