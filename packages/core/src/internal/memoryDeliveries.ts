/** The in-memory stores of deliveries, and the outbox of the other stores. */
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import {
  type Delivery,
  type DeliveryFilter,
  DeliveryId,
  type DeliveryStore,
  type LogEntry,
  searchIn,
  UnknownPosition
} from "../Delivery.ts"
import type { Claimed, ClaimRequest, DeliveryQueue } from "../DeliveryQueue.ts"
import type { Audience, Outgoing } from "../Event.ts"
import type { SubscriptionId } from "../Subscription.ts"
import { isActive, newestFirst, type Queued, type State, wake } from "./memoryState.ts"

/** Queues the deliveries of events, inside the save that causes them. Returns their identifiers. */
export type Enqueue = (outgoing: ReadonlyArray<Outgoing>) => ReadonlyArray<DeliveryId>

const isConcerned = (state: State, audience: Audience, applicationId: Delivery["applicationId"]): boolean =>
  audience._tag === "Application"
    ? audience.applicationId === applicationId
    : audience.userIds.some((userId) => {
      const grant = state.grants.get(applicationId)?.get(userId)
      return grant !== undefined && isActive(state, grant)
    })

const add = (state: State, fields: Omit<Delivery, "id">, isLogged: boolean): Delivery => {
  const delivery: Delivery = { ...fields, id: DeliveryId.make(++state.lastIds.delivery) }
  const queued: Queued = { delivery, isLogged, claims: 0, claim: Option.none() }
  state.deliveries.set(delivery.id, queued)
  state.pending.set(delivery.id, queued)
  wake(state.hints)
  return delivery
}

/** Cancels a pending delivery. */
export const cancel = ({ pending }: State, queued: Queued, now: DateTime.Utc): void => {
  queued.delivery = { ...queued.delivery, state: "cancelled", endedAt: Option.some(now) }
  queued.claim = Option.none()
  pending.delete(queued.delivery.id)
}

/** Whether events wait: their subscription is paused, or their application suspended. */
const isHeld = ({ applications, subscriptions }: State, { applicationId, subscriptionId }: Delivery): boolean =>
  subscriptions.get(subscriptionId)?.paused === true || applications.get(applicationId)?.state === "suspended"

/** The first pending delivery of each object and subscription, and the time from which it can be claimed. */
const heads = (
  state: State,
  latest: Option.Option<DateTime.Utc>
): ReadonlyArray<{ readonly queued: Queued; readonly from: number }> => {
  const passed = (time: number) => Option.exists(latest, ({ epochMillis }) => time > epochMillis) ? 0 : time
  const objects = new Set<string>()
  const found: Array<{ readonly queued: Queued; readonly from: number }> = []
  for (const queued of state.pending.values()) {
    if (isHeld(state, queued.delivery)) continue
    const { dueAt, event, subscriptionId } = queued.delivery
    const object = `${subscriptionId}:${event.objectType}:${event.objectId}`
    const isFirst = !objects.has(object)
    objects.add(object)
    const leaseEnds = Option.match(queued.claim, { onNone: () => 0, onSome: ({ leaseEnds }) => leaseEnds })
    if (isFirst) found.push({ queued, from: Math.max(passed(dueAt.epochMillis), passed(leaseEnds)) })
  }
  return found
}

/** Deliveries that can be claimed: see `DeliveryQueue.claim`. */
const claimable = (state: State, request: ClaimRequest): ReadonlyArray<Queued> => {
  const found = heads(state, Option.fromNullable(request.latest))
  const candidates = found.filter(({ from }) => from <= request.now.epochMillis).map(({ queued }) => queued)
  candidates.sort((a, b) =>
    a.delivery.dueAt.epochMillis - b.delivery.dueAt.epochMillis || a.delivery.id - b.delivery.id
  )
  const taken = new Map<SubscriptionId, number>()
  const isAllowed = ({ delivery: { subscriptionId } }: Queued): boolean => {
    const count = (taken.get(subscriptionId) ?? 0) + 1
    if (count > (request.allowances.get(subscriptionId) ?? request.perSubscription)) return false
    taken.set(subscriptionId, count)
    return true
  }
  return candidates.filter(isAllowed).slice(0, request.limit)
}

const isRepeat = (other: Delivery, original: Delivery): boolean =>
  other.subscriptionId === original.subscriptionId && other.event.id === original.event.id && other.id > original.id

/** Whether a delivery is of a newer event about the same object, and has arrived or will. */
const overtakes = ({ event: newer, state, subscriptionId }: Delivery, { event, ...original }: Delivery): boolean =>
  subscriptionId === original.subscriptionId && newer.objectType === event.objectType &&
  newer.objectId === event.objectId && newer.sequence > event.sequence && (state === "delivered" || state === "pending")

export const makeDeliveries = (
  state: State
): { readonly queue: DeliveryQueue.Service; readonly store: DeliveryStore.Service; readonly enqueue: Enqueue } => {
  const { deliveries, hints, pending, signingSecrets, subscriptions } = state

  const enqueue: Enqueue = (outgoing) => {
    const ids: Array<DeliveryId> = []
    for (const { audience, event } of outgoing) {
      for (const { applicationId, id: subscriptionId } of subscriptions.values()) {
        if (!isConcerned(state, audience, applicationId)) continue
        const dueAt = event.time
        const fields = { applicationId, subscriptionId, event, dueAt, endedAt: Option.none() }
        ids.push(add(state, { ...fields, state: "pending", attempts: [] }, true).id)
      }
    }
    return ids
  }

  const queue: DeliveryQueue.Service = {
    claim: (request) =>
      Effect.sync(() =>
        claimable(state, request).flatMap((queued): ReadonlyArray<Claimed> => {
          const { delivery } = queued
          const subscription = subscriptions.get(delivery.subscriptionId)
          const signing = signingSecrets.get(delivery.applicationId)
          if (subscription === undefined || signing === undefined) return []
          const { leaseEnds, token } = request
          queued.claim = Option.some({ token, leaseEnds: leaseEnds.epochMillis })
          const claims = ++queued.claims
          return [{ delivery, subscription, signingSecrets: signing.secrets, token, leaseEnds, claims }]
        })
      ),
    settle: (settlements) =>
      Effect.sync(() =>
        settlements.flatMap(({ delivery, token }) => {
          const queued = pending.get(delivery.id)
          if (queued === undefined || !Option.exists(queued.claim, (claim) => claim.token === token)) return []
          queued.delivery = delivery
          queued.claim = Option.none()
          queued.claims = 0
          if (delivery.state !== "pending") pending.delete(delivery.id)
          return [delivery.id]
        })
      ),
    release: (claims, dueAt) =>
      Effect.sync(() =>
        claims.flatMap(({ delivery: { id }, token }) => {
          const queued = pending.get(id)
          if (queued === undefined || !Option.exists(queued.claim, (claim) => claim.token === token)) return []
          queued.delivery = { ...queued.delivery, dueAt }
          queued.claim = Option.none()
          queued.claims--
          return [id]
        })
      ),
    wakeUps: Stream.fromPubSub(hints),
    nextDue: (latest) =>
      Effect.sync(() => heads(state, Option.some(latest)).reduce((first, { from }) => Math.min(first, from), Infinity)),
    cancel: (id, now, limit) =>
      Effect.sync(() => {
        const newest = newestFirst(pending).filter(({ delivery }) => delivery.applicationId === id).slice(0, limit)
        for (const queued of newest) cancel(state, queued, now)
        return newest.length
      }),
    again: ({ id }, now, only) =>
      Effect.sync(() => {
        const { delivery: stored, isLogged } = deliveries.get(id) ?? {}
        if (stored === undefined || !subscriptions.has(stored.subscriptionId)) return Option.none()
        if (only !== undefined && !isLogged && stored.state === "delivered") return Option.none()
        const isAny = (is: typeof isRepeat) => [...deliveries.values()].some(({ delivery }) => is(delivery, stored))
        if (only !== undefined && isAny(isRepeat) || only === "latest" && isAny(overtakes)) return Option.none()
        const fresh = { state: "pending", attempts: [], dueAt: now, endedAt: Option.none() } as const
        return Option.some(add(state, { ...stored, ...fresh }, false))
      }),
    enqueue: (outgoing) => Effect.sync(() => enqueue(outgoing))
  }

  const listed = ({ after, applicationId, limit, order, state: wanted }: DeliveryFilter): ReadonlyArray<Delivery> =>
    (order === undefined ? newestFirst(deliveries) : [...deliveries.values()])
      .map(({ delivery }) => delivery)
      .filter((delivery) => !Option.exists(applicationId, (id) => id !== delivery.applicationId))
      .filter((delivery) => !Option.exists(wanted, (one) => one !== delivery.state))
      .filter(({ id }) => !Option.exists(after, (last) => order === undefined ? id >= last : id <= last))
      .slice(0, limit)

  const store: DeliveryStore.Service = {
    search: (search) => Effect.sync(() => searchIn(search, listed({ ...search, limit: search.among }))),
    attempts: (id, since, among) =>
      Effect.sync(() =>
        listed({ applicationId: Option.some(id), state: Option.none(), after: Option.none(), limit: among })
          .flatMap(({ attempts }) => attempts.filter(({ at }) => at.epochMillis >= since.epochMillis))
      ),
    find: (id) => Effect.sync(() => Option.map(Option.fromNullable(deliveries.get(id)), ({ delivery }) => delivery)),
    list: (filter) => Effect.sync(() => listed(filter)),
    repeats: (originals) =>
      Effect.sync(() =>
        new Map(originals.flatMap((one) => {
          const repeats = newestFirst(deliveries).map(({ delivery }) => delivery).filter((other) =>
            isRepeat(other, one)
          )
          const repeat = repeats.find(({ state }) => state === "delivered") ?? repeats[0]
          return repeat === undefined ? [] : [[one.id, repeat]]
        }))
      ),
    log: ({ after, applicationId, limit }) =>
      Effect.suspend(() => {
        if (after > state.lastIds.delivery) return new UnknownPosition()
        const entries: Array<LogEntry> = []
        for (const { delivery, isLogged } of deliveries.values()) {
          if (entries.length === limit) break
          if (!isLogged || delivery.applicationId !== applicationId || delivery.id <= after) continue
          entries.push({ position: delivery.id, delivery })
        }
        return Effect.succeed(entries)
      }),
    purge: (endedBefore, limit) =>
      Effect.sync(() => {
        let removed = 0
        for (const [id, { delivery }] of deliveries) {
          if (removed === limit) break
          if (Option.exists(delivery.endedAt, (at) => at.epochMillis <= endedBefore.epochMillis)) {
            deliveries.delete(id)
            removed++
          }
        }
        return removed
      })
  }
  return { queue, store, enqueue }
}
