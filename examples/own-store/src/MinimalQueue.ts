/** The queue of deliveries of the small adapter, and what it stores: see `Minimal.ts`. */
import {
  Application,
  Delivery,
  type DeliveryQueue,
  type Event,
  Grant,
  Registration,
  Subscription
} from "@startlist/core"
import { type DateTime, Effect, Option, PubSub, Schema, Stream } from "effect"
import type { Documents } from "./Documents.ts"
import type { Seal } from "./Seal.ts"

/** The worker needs the signing secrets again, so they are sealed. Other secrets are fingerprints. */
const sealedSigning = ({ seal, unseal }: Seal) => {
  const sealed = Schema.transform(Schema.String, Schema.String, { strict: true, decode: unseal, encode: seal })
  const value = Schema.compose(sealed, Schema.Redacted(Schema.NonEmptyString))
  const secret = Schema.Struct({ ...Application.SigningSecret.fields, value })
  return Schema.Struct({ ...Application.SigningSecrets.fields, secrets: Schema.Array(secret) })
}

/** A delivery with its claim, and the number of claims since an outcome was recorded. */
const Queued = Schema.Struct({
  delivery: Delivery.Delivery,
  claims: Schema.Int,
  claim: Schema.NullOr(Schema.Struct({ token: Schema.String, leaseEnds: Schema.Number }))
})

export const makeCollections = ({ collection }: Documents, seal: Seal) => ({
  applications: collection("applications", Application.Application),
  /** By application. */
  signing: collection("signing", sealedSigning(seal)),
  /** By application and user. */
  grants: collection("grants", Grant.Grant),
  /** By application, which has at most one. */
  subscriptions: collection("subscriptions", Subscription.Subscription),
  registrations: collection("registrations", Registration.Registration),
  pending: collection("pending", Queued),
  ended: collection("ended", Delivery.Delivery),
  /** By application and delivery: the first deliveries of its events. */
  log: collection("log", Schema.Struct({ id: Delivery.DeliveryId, applicationId: Application.ApplicationId }))
})

export type Collections = ReturnType<typeof makeCollections>

/** Whether a user has an active grant of the present epoch of the application. */
export const isActive = ({ applications, grants }: Collections, id: number, user: number): boolean => {
  const grant = grants.get(id, user)
  return grant?.status === "active" && applications.get(id)?.epoch === grant.applicationEpoch
}

type Told = Pick<Delivery.Delivery, "applicationId" | "subscriptionId" | "event" | "dueAt">

/** Queues one delivery. */
const add = ({ log, pending }: Collections, told: Told, isLogged: boolean): Delivery.Delivery => {
  const id = Delivery.DeliveryId.make(pending.nextId())
  const delivery: Delivery.Delivery = { ...told, id, state: "pending", attempts: [], endedAt: Option.none() }
  pending.put({ delivery, claims: 0, claim: null }, id)
  if (isLogged) log.put({ id, applicationId: told.applicationId }, told.applicationId, id)
  return delivery
}

/** Queues the deliveries of events, inside the step that saves their change. */
export const enqueue = (
  collections: Collections,
  outgoing: ReadonlyArray<Event.Outgoing>
): ReadonlyArray<Delivery.DeliveryId> => {
  const { subscriptions } = collections
  return outgoing.flatMap(({ audience, event }) => {
    const concerned = audience._tag === "Application"
      ? [audience.applicationId]
      : subscriptions.keys().filter((id) => audience.userIds.some((user) => isActive(collections, id, user)))
    return concerned.flatMap((id) => subscriptions.get(id) ?? []).map(({ applicationId, id: subscriptionId }) =>
      add(collections, { applicationId, subscriptionId, event, dueAt: event.time }, true).id
    )
  })
}

/** A delivery that is no longer pending. */
export const end = ({ ended, pending }: Collections, delivery: Delivery.Delivery): void => {
  pending.remove(delivery.id)
  ended.put(delivery, delivery.id)
}

export const cancel = (collections: Collections, delivery: Delivery.Delivery, now: DateTime.Utc): void =>
  end(collections, { ...delivery, state: "cancelled", endedAt: Option.some(now) })

/** Deliveries that can be claimed, within the allowances of their subscriptions. */
const claimable = ({ applications, pending, subscriptions }: Collections, request: DeliveryQueue.ClaimRequest) => {
  const now = request.now.epochMillis
  const objects = new Set<string>()
  const taken = new Map<Subscription.SubscriptionId, number>()
  /** Events wait while their subscription is paused, or their application suspended. */
  const isHeld = ({ delivery: { applicationId } }: { readonly delivery: Delivery.Delivery }) =>
    subscriptions.get(applicationId)?.paused === true || applications.get(applicationId)?.state === "suspended"
  return pending.all().filter((queued) => !isHeld(queued)).filter(
    ({ claim, delivery: { dueAt, event, subscriptionId } }) => {
      const object = `${subscriptionId} ${event.objectType} ${event.objectId}`
      const isFirst = !objects.has(object)
      objects.add(object)
      return isFirst && dueAt.epochMillis <= now && (claim === null || claim.leaseEnds <= now)
    }
  ).sort((a, b) => a.delivery.dueAt.epochMillis - b.delivery.dueAt.epochMillis).filter(({ delivery }) => {
    const count = (taken.get(delivery.subscriptionId) ?? 0) + 1
    taken.set(delivery.subscriptionId, count)
    return count <= (request.allowances.get(delivery.subscriptionId) ?? request.perSubscription)
  }).slice(0, request.limit)
}

/** One page, newest first. */
export const page = <A extends { readonly id: number }>(
  records: ReadonlyArray<A>,
  after: Option.Option<number>,
  limit: number
): ReadonlyArray<A> =>
  records.filter(({ id }) => id < Option.getOrElse(after, () => Infinity)).sort((a, b) => b.id - a.id).slice(0, limit)

/** Whether a value matches the filter, if there is one. */
export const fits = <A>(asked: Option.Option<A>, value: A): boolean => Option.getOrElse(asked, () => value) === value

export const makeDeliveries = (
  { atomically }: Documents,
  collections: Collections,
  hints: PubSub.PubSub<void>
): Delivery.DeliveryStore.Service & DeliveryQueue.DeliveryQueue.Service => {
  const { ended, log, pending, signing, subscriptions } = collections
  const wake = PubSub.publish(hints, undefined)

  /** The subscription of a delivery, unless it was removed. The application may have another one since. */
  const subscribed = ({ applicationId, subscriptionId }: Pick<Told, "applicationId" | "subscriptionId">) =>
    Option.filter(Option.fromNullable(subscriptions.get(applicationId)), ({ id }) => id === subscriptionId)

  /** The number of claims of a pending delivery, if this is its current claim. */
  const claimsOf = (id: Delivery.DeliveryId, token: string): Option.Option<number> => {
    const queued = pending.get(id)
    return queued?.claim?.token === token ? Option.some(queued.claims) : Option.none()
  }

  const list = ({ after, applicationId, limit, state }: Delivery.DeliveryFilter) => {
    const all = [...pending.all().map(({ delivery }) => delivery), ...ended.all()]
    const fitting = all.filter((one) => fits(applicationId, one.applicationId) && fits(state, one.state))
    return page(fitting, after, limit)
  }

  return {
    claim: (request) =>
      atomically(() =>
        claimable(collections, request).flatMap(({ claims: before, delivery }) => {
          const { leaseEnds, token } = request
          const claims = before + 1
          pending.put({ delivery, claims, claim: { token, leaseEnds: leaseEnds.epochMillis } }, delivery.id)
          const signingSecrets = signing.get(delivery.applicationId)?.secrets ?? []
          return Option.toArray(subscribed(delivery)).map((subscription) => ({
            delivery,
            subscription,
            signingSecrets,
            token,
            leaseEnds,
            claims
          }))
        })
      ),
    settle: (settlements) =>
      atomically(() =>
        settlements.flatMap(({ delivery, token }) => {
          if (Option.isNone(claimsOf(delivery.id, token))) return []
          if (delivery.state === "pending") pending.put({ delivery, claims: 0, claim: null }, delivery.id)
          else end(collections, delivery)
          return [delivery.id]
        })
      ),
    release: (released, dueAt) =>
      atomically(() =>
        released.flatMap(({ delivery, token }) =>
          Option.toArray(claimsOf(delivery.id, token)).map((claims) => {
            pending.put({ delivery: { ...delivery, dueAt }, claims: claims - 1, claim: null }, delivery.id)
            return delivery.id
          })
        )
      ),
    wakeUps: Stream.fromPubSub(hints),
    find: (id) => atomically(() => Option.fromNullable(pending.get(id)?.delivery ?? ended.get(id))),
    list: (filter) => atomically(() => list(filter)),
    cancel: (id, now, limit) =>
      atomically(() => {
        const ofApplication = pending.all().filter(({ delivery }) => delivery.applicationId === id)
        const newest = ofApplication.slice(Math.max(0, ofApplication.length - limit))
        for (const { delivery } of newest) cancel(collections, delivery, now)
        return newest.length
      }),
    again: ({ id }, dueAt) =>
      atomically(() =>
        Option.fromNullable(pending.get(id)?.delivery ?? ended.get(id)).pipe(
          Option.filter((stored) => Option.isSome(subscribed(stored))),
          Option.map((stored) => add(collections, { ...stored, dueAt }, false))
        )
      ).pipe(Effect.tap(wake)),
    enqueue: (outgoing) => Effect.zipLeft(atomically(() => enqueue(collections, outgoing)), wake),
    log: ({ after, applicationId, limit }) =>
      Effect.flatten(atomically(() => {
        if (after > pending.lastId()) return new Delivery.UnknownPosition()
        const page = log.all().filter((one) => one.applicationId === applicationId && one.id > after).slice(0, limit)
        return Effect.succeed(
          page.flatMap(({ id }) => pending.get(id)?.delivery ?? ended.get(id) ?? []).map((delivery) => ({
            position: delivery.id,
            delivery
          }))
        )
      })),
    purge: (endedBefore, limit) =>
      atomically(() => {
        const isOld = (at: typeof endedBefore) => at.epochMillis <= endedBefore.epochMillis
        const old = ended.all().filter(({ endedAt }) => Option.exists(endedAt, isOld)).slice(0, limit)
        for (const { applicationId, id } of old) log.remove(applicationId, id)
        return old.filter(({ id }) => ended.remove(id)).length
      })
  }
}
