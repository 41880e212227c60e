/** The model of the stores: plain lists, and what each operation on them must answer. */
import type { Application, ApplicationId, SigningSecrets } from "@startlist/core/Application"
import type { Delivery, DeliveryFilter, DeliveryId, LogRequest } from "@startlist/core/Delivery"
import type { Claimed, ClaimRequest, Settlement } from "@startlist/core/DeliveryQueue"
import type { Outgoing } from "@startlist/core/Event"
import type { Grant } from "@startlist/core/Grant"
import type { Registration, RegistrationId } from "@startlist/core/Registration"
import type { Subscription, SubscriptionId } from "@startlist/core/Subscription"
import type { UserId } from "@startlist/core/User"
import * as Arr from "effect/Array"
import type * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import { alike, holds } from "./expecting.ts"

interface Versioned {
  readonly version: number
}

/** A delivery without an identifier. */
type Unnumbered = Omit<Delivery, "id">

/** A stored delivery. */
export interface Stored {
  readonly delivery: Unnumbered
  /** Undefined until a store has shown it: saves do not return it. */
  readonly id: DeliveryId | undefined
  /** The call that queued it, and its place among all. */
  readonly call: number
  readonly place: number
  /** Whether it is the first delivery of its event. The log has no other ones. */
  readonly isLogged: boolean
  readonly claims: number
  readonly claim: Pick<Claimed, "leaseEnds" | "token"> | undefined
  /** Its position in the log, once a reader has seen it. */
  readonly position: number | undefined
}

export interface Page<Id> {
  readonly after: Option.Option<Id>
  readonly limit: number
}

type Held = Pick<Claimed, "delivery" | "token">

/** Writes a record over the version before it. */
const save = <K, A extends Versioned>(records: Map<K, A>, key: K, next: A, isNew = false): boolean => {
  const version = records.get(key)?.version ?? (isNew ? 0 : NaN)
  if (version !== next.version - 1) return false
  records.set(key, next)
  return true
}

const newestFirst = <Id extends number, A extends { readonly id: Id }>(
  all: ReadonlyArray<A>,
  { after, limit }: Page<Id>
): ReadonlyArray<A> =>
  all.filter(({ id }) => Option.isNone(after) || id < after.value).sort((a, b) => b.id - a.id).slice(0, limit)

/** The event and the subscription of a delivery. */
const keyOf = ({ event, subscriptionId }: Unnumbered): string => `${subscriptionId} ${event.id}`

/** Whether a delivery was queued before another one for the same subscription by the same call. */
const isBefore = (one: Stored, other: Stored): boolean =>
  one.call === other.call && one.place < other.place && one.delivery.subscriptionId === other.delivery.subscriptionId

const isDue = ({ claim, delivery: { dueAt } }: Stored, { now }: ClaimRequest): boolean =>
  dueAt.epochMillis <= now.epochMillis && (claim === undefined || claim.leaseEnds.epochMillis <= now.epochMillis)

export class StoreModel {
  readonly applications: Map<ApplicationId, Application>
  /** The client secrets with which applications were inserted. */
  readonly firstSecrets: Set<string | undefined>
  readonly grants: Map<string, Grant>
  readonly registrations: Map<RegistrationId, Registration>
  readonly signingSecrets: Map<ApplicationId, SigningSecrets>
  readonly subscriptions: Map<SubscriptionId, Subscription>
  /** Subscriptions that were removed, and deliveries that were purged. */
  readonly removed: Array<Subscription>
  readonly purged: Array<DeliveryId>
  /** Where readers of the log have been, also at deliveries that were purged since. */
  readonly readTo: Array<readonly [ApplicationId, number]>
  /** All claims, also those that have ended. */
  readonly claims: Array<Claimed>
  /** In the order of their identifiers. */
  deliveries: ReadonlyArray<Stored>
  #added: number
  #calls: number

  /** Empty, or a copy. */
  constructor(other?: StoreModel) {
    this.applications = new Map(other?.applications)
    this.firstSecrets = new Set(other?.firstSecrets)
    this.grants = new Map(other?.grants)
    this.registrations = new Map(other?.registrations)
    this.signingSecrets = new Map(other?.signingSecrets)
    this.subscriptions = new Map(other?.subscriptions)
    this.removed = [...other?.removed ?? []]
    this.purged = [...other?.purged ?? []]
    this.readTo = [...other?.readTo ?? []]
    this.claims = [...other?.claims ?? []]
    this.deliveries = other?.deliveries ?? []
    this.#added = other === undefined ? 0 : other.#added
    this.#calls = other === undefined ? 0 : other.#calls
  }

  /** Whether another model answers like this one. */
  isLike(other: StoreModel): boolean {
    const content = (one: StoreModel) => [
      ...[one.applications, one.grants, one.registrations, one.signingSecrets, one.subscriptions].map((
        all
      ) => [...all]),
      one.deliveries.map(({ call: _, place: __, ...stored }) => stored),
      one.claims
    ]
    return alike(content(this), content(other))
  }

  insertApplication(application: Application, secrets: SigningSecrets): void {
    this.applications.set(application.id, application)
    this.firstSecrets.add(application.secrets[0]?.hash)
    this.signingSecrets.set(application.id, secrets)
  }

  saveApplication(next: Application): boolean {
    return save(this.applications, next.id, next)
  }

  listApplications(owner: Option.Option<UserId>, page: Page<ApplicationId>): ReadonlyArray<Application> {
    const owned = [...this.applications.values()].filter(({ ownerId, state }) =>
      state !== "ended" && Option.getOrElse(owner, () => ownerId) === ownerId
    )
    return newestFirst(owned, page)
  }

  saveSigningSecrets(next: SigningSecrets): boolean {
    return save(this.signingSecrets, next.applicationId, next)
  }

  saveRegistration(next: Registration, outgoing: ReadonlyArray<Outgoing>): boolean {
    return save(this.registrations, next.id, next) && this.enqueue(outgoing)
  }

  grant(applicationId: ApplicationId, userId: UserId): Grant | undefined {
    return this.grants.get(`${applicationId} ${userId}`)
  }

  saveGrant(next: Grant, outgoing: ReadonlyArray<Outgoing>): boolean {
    return save(this.grants, `${next.applicationId} ${next.userId}`, next, true) && this.enqueue(outgoing)
  }

  get activeGrants(): ReadonlyArray<Grant> {
    return [...this.grants.values()].filter(({ applicationEpoch, applicationId, status }) =>
      status === "active" && this.applications.get(applicationId)?.epoch === applicationEpoch
    )
  }

  subscriptionOf(id: ApplicationId): Subscription | undefined {
    return [...this.subscriptions.values()].find(({ applicationId }) => applicationId === id)
  }

  listSubscriptions(page: Page<SubscriptionId>): ReadonlyArray<Subscription> {
    return newestFirst([...this.subscriptions.values()], page)
  }

  saveSubscription(next: Subscription): boolean {
    return save(this.subscriptions, next.id, next)
  }

  removeSubscription(id: SubscriptionId, now: DateTime.Utc): boolean {
    this.#cancel(this.#pending(({ subscriptionId }) => subscriptionId === id), now)
    this.removed.push(...[...this.subscriptions.values()].filter((one) => one.id === id))
    return this.subscriptions.delete(id)
  }

  /** Queues the deliveries of these events, for each concerned subscription in their order. */
  enqueue(outgoing: ReadonlyArray<Outgoing>): true {
    this.#calls += 1
    for (const { audience, event } of outgoing) {
      const isConcerned = (id: ApplicationId) =>
        audience._tag === "Application"
          ? audience.applicationId === id
          : this.activeGrants.some((one) => one.applicationId === id && audience.userIds.includes(one.userId))
      for (const { applicationId, id: subscriptionId } of this.subscriptions.values()) {
        if (!isConcerned(applicationId)) continue
        const fields = { applicationId, subscriptionId, event, dueAt: event.time, endedAt: Option.none() }
        this.add({ ...fields, state: "pending", attempts: [] })
      }
    }
    return true
  }

  /** Adds a delivery. One that is delivered again is not in the log. */
  add(delivery: Unnumbered, isLogged = true, id?: DeliveryId): void {
    const place = this.#added++
    const unclaimed = { claims: 0, claim: undefined, position: undefined }
    this.deliveries = [...this.deliveries, { delivery, id, isLogged, call: this.#calls, place, ...unclaimed }]
  }

  #change(changed: ReadonlyArray<Stored>, change: (one: Stored) => Partial<Stored>): void {
    this.deliveries = this.deliveries.map((one) => changed.includes(one) ? { ...one, ...change(one) } : one)
  }

  /** Takes identifiers from deliveries that a store has shown. Those of one call are in its order. */
  learn(shown: ReadonlyArray<Delivery>): void {
    if (this.deliveries.every(({ id }) => id !== undefined)) return
    const known = new Set(this.deliveries.map(({ id }) => id))
    const left = Arr.groupBy(shown.filter(({ id }) => !known.has(id)).toReversed(), keyOf)
    const all = this.deliveries.map((one) => {
      if (one.id !== undefined) return one
      const id = left[keyOf(one.delivery)]?.shift()?.id
      holds(id === undefined || !this.purged.includes(id), `identifier ${id} was not given before`)
      return { ...one, id }
    })
    // One that is not shown yet comes before the next ones of its call.
    const order = new Map(all.map((one) => [
      one.place,
      one.id ?? Math.min(...all.filter((other) => isBefore(one, other)).map(({ id }) => id ?? Infinity))
    ]))
    const orderOf = ({ place }: Stored) => order.get(place) ?? Infinity
    this.deliveries = all.sort((a, b) => orderOf(a) - orderOf(b) || a.place - b.place)
    const last = new Map<string, number>()
    for (const { call, delivery, id, place } of this.deliveries) {
      const subscription = `${call} ${delivery.subscriptionId}`
      if (id === undefined) continue
      holds(place > (last.get(subscription) ?? -1), "the identifiers of the events of a call are in their order")
      last.set(subscription, place)
    }
  }

  #pending(isWanted: (delivery: Unnumbered) => boolean): ReadonlyArray<Stored> {
    return this.deliveries.filter(({ delivery }) => delivery.state === "pending" && isWanted(delivery))
  }

  #cancel(all: ReadonlyArray<Stored>, now: DateTime.Utc): void {
    this.#change(all, ({ delivery }) => ({
      delivery: { ...delivery, state: "cancelled", endedAt: Option.some(now) },
      claim: undefined
    }))
  }

  /** The deliveries that a worker gets if it asks for them now. */
  claimable(request: ClaimRequest): ReadonlyArray<Stored> {
    const objects = new Set<string>()
    const left = new Map<SubscriptionId, number>()
    return this.#pending(({ applicationId, subscriptionId }) =>
      this.applications.get(applicationId)?.state !== "suspended" &&
      this.subscriptions.get(subscriptionId)?.paused === false
    ).filter((one) => {
      const { event, subscriptionId } = one.delivery
      const object = `${subscriptionId} ${event.objectType} ${event.objectId}`
      const isFirst = !objects.has(object)
      objects.add(object)
      return isFirst && isDue(one, request)
    }).sort((a, b) => a.delivery.dueAt.epochMillis - b.delivery.dueAt.epochMillis).filter(({ delivery }) => {
      const { subscriptionId } = delivery
      const allowed = left.get(subscriptionId) ?? request.allowances.get(subscriptionId) ?? request.perSubscription
      left.set(subscriptionId, allowed - 1)
      return allowed > 0
    }).slice(0, request.limit)
  }

  /** Claims these deliveries. */
  claim({ leaseEnds, token }: ClaimRequest, claimed: ReadonlyArray<Stored>): ReadonlyArray<Claimed> {
    this.#change(claimed, ({ claims }) => ({ claim: { leaseEnds, token }, claims: claims + 1 }))
    const answer = claimed.flatMap(({ claims, delivery, id }) => {
      const subscription = this.subscriptions.get(delivery.subscriptionId)
      const signingSecrets = this.signingSecrets.get(delivery.applicationId)?.secrets
      if (id === undefined || subscription === undefined || signingSecrets === undefined) return []
      return [{ delivery: { ...delivery, id }, subscription, signingSecrets, token, leaseEnds, claims: claims + 1 }]
    })
    this.claims.push(...answer)
    return answer
  }

  #heldBy({ delivery: { id }, token }: Held): ReadonlyArray<Stored> {
    return this.#pending(() => true).filter((one) => one.id === id && one.claim?.token === token)
  }

  /** Returns the identifiers of the settlements that are recorded. */
  settle(settlements: ReadonlyArray<Settlement>): ReadonlyArray<DeliveryId> {
    return settlements.flatMap((settlement) => {
      const { delivery: { id, ...delivery } } = settlement
      const held = this.#heldBy(settlement)
      this.#change(held, () => ({ delivery, claim: undefined, claims: 0 }))
      return held.map(() => id)
    })
  }

  release(claims: ReadonlyArray<Held>, dueAt: DateTime.Utc): ReadonlyArray<DeliveryId> {
    return claims.flatMap((released) => {
      const held = this.#heldBy(released)
      this.#change(held, ({ claims, delivery }) => ({
        delivery: { ...delivery, dueAt },
        claim: undefined,
        claims: claims - 1
      }))
      return held.map(() => released.delivery.id)
    })
  }

  cancel(id: ApplicationId, now: DateTime.Utc, limit: number): number {
    const newest = this.#pending(({ applicationId }) => applicationId === id).toReversed().slice(0, limit)
    this.#cancel(newest, now)
    return newest.length
  }

  /** The delivery that is made again. Undefined if it or its subscription is gone. */
  again(id: DeliveryId, now: DateTime.Utc): Unnumbered | undefined {
    const original = this.deliveries.find((one) => one.id === id)?.delivery
    if (original === undefined || !this.subscriptions.has(original.subscriptionId)) return undefined
    return { ...original, state: "pending", attempts: [], dueAt: now, endedAt: Option.none() }
  }

  listDeliveries({ after, applicationId, limit, state }: DeliveryFilter): ReadonlyArray<unknown> {
    return this.deliveries.filter(({ delivery, id = Infinity }) =>
      (Option.isNone(applicationId) || delivery.applicationId === applicationId.value) &&
      (Option.isNone(state) || delivery.state === state.value) &&
      (Option.isNone(after) || id < after.value)
    ).reverse().slice(0, limit).map(({ delivery, id }) => ({ ...delivery, id }))
  }

  /** The entries of the log behind a position. Those that nobody has seen come last. */
  log({ after, applicationId, limit }: LogRequest): ReadonlyArray<Stored> {
    return this.deliveries.filter(({ delivery, isLogged, position = Infinity }) =>
      isLogged && delivery.applicationId === applicationId && position > after
    ).sort((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity)).slice(0, limit)
  }

  /** Readers have seen these entries at these positions. */
  seen(entries: ReadonlyArray<Stored>, positions: ReadonlyArray<number>): void {
    this.#change(entries, (one) => ({ position: positions[entries.indexOf(one)] }))
    for (const [place, { delivery, position }] of entries.entries()) {
      const read = positions[place]
      if (position === undefined && read !== undefined) this.readTo.push([delivery.applicationId, read])
    }
  }

  /** The deliveries that a purge can remove. */
  purgeable(endedBefore: DateTime.Utc): ReadonlyArray<DeliveryId> {
    return this.deliveries.filter(({ delivery: { endedAt } }) =>
      Option.exists(endedAt, ({ epochMillis }) => epochMillis <= endedBefore.epochMillis)
    ).flatMap(({ id }) => id ?? [])
  }

  purge(ids: ReadonlyArray<DeliveryId>): void {
    this.purged.push(...ids)
    this.deliveries = this.deliveries.filter(({ id }) => id === undefined || !ids.includes(id))
  }
}
