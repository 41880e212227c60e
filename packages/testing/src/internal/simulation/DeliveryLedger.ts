/**
 * What was promised about events, and the checks of the laws 4 to 9.
 *
 * It learns of every write when the store has made it, and of every request to a receiver when it is sent. Time is the
 * true one, in milliseconds; what a node's clock showed is said so.
 */
import type { ApplicationId } from "@startlist/core/Application"
import type { Claimed, ClaimRequest, Delivery, DeliveryId, Settlement } from "@startlist/core/Delivery"
import { body, type Event, type Outgoing } from "@startlist/core/Event"
import type { Policy } from "@startlist/core/Policy"
import { type Subscription, SubscriptionId } from "@startlist/core/Subscription"
import type { UserId } from "@startlist/core/User"
import type { Registration, RegistrationId } from "@startlist/core/Registration"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import type { Journal } from "./Journal.ts"

/** One request that delivers an event. */
export interface Sent {
  /** When it started, by the sender's clock. */
  readonly senderAt: number
  readonly body: string
  /** What came back to the sender, if anything did. */
  answer: { readonly status: number; readonly afterMs: number } | undefined
}

const readBody = Schema.decodeSync(Schema.parseJson(Schema.Struct({ subscription_id: SubscriptionId })))

interface Claim {
  readonly holder: object
  readonly token: string
  readonly leaseEnds: number
}

interface Subscribed {
  readonly subscription: Subscription
  readonly since: number
  removed: boolean
}

export class DeliveryLedger {
  readonly #journal: Journal
  readonly #policy: Policy.Service
  readonly deliveries = new Map<DeliveryId, Delivery>()
  readonly subscriptions = new Map<SubscriptionId, Subscribed>()
  /** When each event was first saved. */
  readonly #saved = new Map<string, number>()
  readonly #claims = new Map<DeliveryId, Claim>()
  readonly #sent = new Map<string, Array<Sent>>()
  /** How often each callback URL answered a challenge as it must, less the subscriptions that were stored for it. */
  readonly #proven = new Map<string, number>()
  /** The deliveries that have not ended. */
  readonly pending = new Map<DeliveryId, Delivery>()
  readonly #revocations = new Map<string, number>()
  readonly #comments = new Set<string>()
  readonly #byKey = new Map<string, Array<DeliveryId>>()
  readonly #told = new Map<string, Set<SubscriptionId>>()

  constructor(journal: Journal, policy: Policy.Service) {
    this.#journal = journal
    this.#policy = policy
  }

  proved(callbackUrl: string): void {
    this.#proven.set(callbackUrl, (this.#proven.get(callbackUrl) ?? 0) + 1)
  }

  inserted(subscription: Subscription): void {
    const { applicationId, callbackUrl, id } = subscription
    const proofs = this.#proven.get(callbackUrl) ?? 0
    this.#journal.check(
      7,
      proofs > 0,
      () => `subscription ${id} was stored, and its callback never answered a challenge`
    )
    this.#journal.check(
      7,
      this.subscribedOf(applicationId) === undefined,
      () => `application ${applicationId} has a second subscription, ${id}`
    )
    this.#journal.check(
      8,
      !this.subscriptions.has(id),
      () => `subscription ${id} is new, and has the identifier of one that was deleted`
    )
    this.subscriptions.set(id, { subscription, since: this.#journal.moment, removed: false })
    this.#proven.set(callbackUrl, proofs - 1)
  }

  removed(id: SubscriptionId): void {
    const subscribed = this.subscriptions.get(id)
    if (subscribed !== undefined) subscribed.removed = true
  }

  subscribedOf(applicationId: ApplicationId): Subscription | undefined {
    return [...this.subscriptions.values()]
      .find(({ removed, subscription }) => !removed && subscription.applicationId === applicationId)?.subscription
  }

  /** The events of a save, and the subscriptions that they concern when it was made. */
  saved(event: Event, concerned: ReadonlySet<SubscriptionId>): void {
    if (!this.#saved.has(event.id)) this.#saved.set(event.id, this.#journal.moment)
    const told = this.#told.get(event.id) ?? new Set()
    for (const id of concerned) {
      this.#journal.check(4, told.has(id), () => `${event.id} was saved without its delivery to subscription ${id}`)
    }
    for (const id of told) {
      this.#journal.check(
        4,
        concerned.has(id),
        () => `${event.id} is to be delivered to subscription ${id}, which it does not concern`
      )
    }
  }

  /** A revocation was saved with this event. */
  told(applicationId: ApplicationId, { objectId }: Event): void {
    this.#revocations.set(`${applicationId}:${objectId}`, this.#journal.moment)
  }

  /** When the last event about this user's revocation was saved. */
  toldOf(applicationId: ApplicationId, userId: UserId): number {
    return this.#revocations.get(`${applicationId}:${userId}`) ?? -1
  }

  /** A registration was saved with these events. */
  changed({ id, updates }: Registration, outgoing: ReadonlyArray<Outgoing>): void {
    const told = outgoing.some(({ event }) => "comment" in event.updates && event.updates.comment === updates.comment)
    this.#journal.check(4, told, () => `a change of registration ${id} was saved without its event`)
    this.#comments.add(`${id}:${updates.comment}`)
  }

  hasComment(id: RegistrationId, comment: string): boolean {
    return this.#comments.has(`${id}:${comment}`)
  }

  claimed(request: ClaimRequest, claimed: ReadonlyArray<Claimed>, holder: object): void {
    for (const { delivery: { id }, leaseEnds, subscription } of claimed) {
      const before = this.#claims.get(id)
      this.#journal.check(
        5,
        before === undefined || before.leaseEnds <= request.now.epochMillis,
        () =>
          `delivery ${id} was claimed twice, the second time ${
            before === undefined ? 0 : before.leaseEnds - request.now.epochMillis
          } ms before the first lease ends`
      )
      this.#journal.check(
        8,
        this.subscriptions.get(subscription.id)?.removed === false,
        () => `delivery ${id} was claimed after subscription ${subscription.id} was deleted`
      )
      this.#journal.tell(`delivery ${id} is claimed`)
      this.#claims.set(id, { holder, token: request.token, leaseEnds: leaseEnds.epochMillis })
    }
  }

  settled(settlements: ReadonlyArray<Settlement>, recorded: ReadonlyArray<DeliveryId>): void {
    for (const id of recorded) {
      // A node that records an old attempt again may have a newer one of the same delivery beside it.
      const holds = settlements.some(({ delivery, token }) =>
        delivery.id === id && token === this.#claims.get(id)?.token
      )
      this.#journal.check(
        5,
        holds,
        () => `an attempt of delivery ${id} was recorded under a claim that is not the last one`
      )
      this.#claims.delete(id)
    }
  }

  /** Compares what the store holds with what it held before. Answers whether it is new. */
  seen(delivery: Delivery): boolean {
    const before = this.deliveries.get(delivery.id)
    this.deliveries.set(delivery.id, delivery)
    if (delivery.state === "pending") this.pending.set(delivery.id, delivery)
    else this.pending.delete(delivery.id)
    if (before === undefined) this.#isNew(delivery)
    else this.#follows(before, delivery)
    const subscribed = this.subscriptions.get(delivery.subscriptionId)
    this.#journal.check(
      8,
      delivery.state !== "pending" || subscribed?.removed !== true,
      () => `delivery ${delivery.id} is still pending, and its subscription ${delivery.subscriptionId} was deleted`
    )
    return before === undefined
  }

  #isNew({ event, id, subscriptionId }: Delivery): void {
    const key = `${subscriptionId}:${event.id}`
    this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), id])
    this.#told.set(event.id, (this.#told.get(event.id) ?? new Set()).add(subscriptionId))
    const since = this.subscriptions.get(subscriptionId)?.since ?? Infinity
    this.#journal.check(
      8,
      since <= (this.#saved.get(event.id) ?? Infinity),
      () => `delivery ${id} is for subscription ${subscriptionId}, which was made after its event`
    )
    this.#journal.tell(`delivery ${id} of ${event.id} to subscription ${subscriptionId} is queued`)
    this.#journal.count("deliveries")
  }

  #follows(before: Delivery, after: Delivery): void {
    const { attempts, id, state } = after
    const check = (holds: boolean, message: () => string) => this.#journal.check(5, holds, message)
    if (before.state === state && before.attempts.length === attempts.length) return
    this.#journal.tell(`delivery ${id} is ${state} after ${attempts.length} attempts`)
    check(before.state === "pending", () => `delivery ${id} was ${before.state} and is ${state} now`)
    check(
      before.attempts.every((attempt, index) => attempt.at.epochMillis === attempts[index]?.at.epochMillis),
      () => `delivery ${id} forgot an attempt that was recorded`
    )
    check(
      body(before.event, 0) === body(after.event, 0) && before.event.id === after.event.id,
      () => `the event of delivery ${id} changed`
    )
    check(
      attempts.length <= this.#policy.deliveryDelays.length + 1,
      () => `delivery ${id} has ${attempts.length} attempts`
    )
    for (const attempt of attempts.slice(before.attempts.length)) this.#wasMade(after, attempt)
    if (state === "exhausted") {
      this.#journal.check(
        4,
        attempts.length === this.#policy.deliveryDelays.length + 1,
        () => `delivery ${id} is exhausted after ${attempts.length} attempts`
      )
    }
    if (state === "delivered" || state === "exhausted") {
      this.#journal.check(
        4,
        (attempts.at(-1)?.outcome === "delivered") === (state === "delivered"),
        () => `delivery ${id} is ${state}, and its last attempt was ${attempts.at(-1)?.outcome}`
      )
    }
    if (state === "cancelled") {
      this.#journal.check(
        4,
        this.subscriptions.get(after.subscriptionId)?.removed === true,
        () => `delivery ${id} is cancelled, and its subscription is there`
      )
    }
    if (state !== "pending") this.#journal.count(state)
  }

  /** A recorded attempt is one that was made, and came out as recorded. */
  #wasMade({ event, id, subscriptionId }: Delivery, attempt: Delivery["attempts"][number]): void {
    const timeout = Duration.toMillis(this.#policy.callbackTimeout)
    const made = (this.#sent.get(`${subscriptionId}:${event.id}`) ?? [])
      .filter(({ senderAt }) => senderAt === attempt.at.epochMillis)
    this.#journal.check(5, made.length > 0, () => `delivery ${id} records an attempt that nobody made`)
    const acknowledged = ({ answer }: Sent, limit: number) =>
      answer !== undefined && answer.status === 200 && answer.afterMs < limit
    if (attempt.outcome === "delivered") {
      this.#journal.check(
        4,
        made.some((sent) => acknowledged(sent, timeout + 1)),
        () => `delivery ${id} counts as delivered, and its receiver never acknowledged it in time`
      )
    } else {
      this.#journal.check(
        5,
        made.some((sent) => !acknowledged(sent, timeout)),
        () => `an attempt of delivery ${id} counts as ${attempt.outcome}, and its receiver acknowledged it in time`
      )
    }
  }

  /** A request to a receiver starts. */
  sent(
    post: { readonly id: string; readonly body: string; readonly callbackUrl: string; readonly senderAt: number },
    holder: object
  ): Sent {
    const record: Sent = { senderAt: post.senderAt, body: post.body, answer: undefined }
    const { subscription_id: subscriptionId } = readBody(post.body)
    const key = `${subscriptionId}:${post.id}`
    const earlier = this.#sent.get(key) ?? []
    this.#sent.set(key, [...earlier, record])
    this.#journal.count("attempts")
    const of = (this.#byKey.get(key) ?? []).flatMap((id) => this.deliveries.get(id) ?? [])
    const mine = of.filter(({ id }) => this.#claims.get(id)?.holder === holder)
    const claim = mine.flatMap(({ id }) => this.#claims.get(id) ?? []).at(-1)
    const what = `${post.id} to subscription ${subscriptionId}`
    const check = (law: number, holds: boolean, message: string) => this.#journal.check(law, holds, () => message)

    check(4, this.#saved.has(post.id), `${what} is sent, and was never saved`)
    check(5, earlier.every((one) => one.body === post.body), `${what} is sent with other bytes than before`)
    check(
      8,
      this.subscriptions.get(subscriptionId)?.subscription.callbackUrl === post.callbackUrl,
      `${what} is sent to ${post.callbackUrl}, which is not its callback`
    )
    const mayBeCancelled = of.some(({ state }) => state === "cancelled")
    check(5, mayBeCancelled || of.some(({ state }) => state === "pending"), `${what} is sent again after its end`)
    check(5, mayBeCancelled || claim !== undefined, `${what} is sent by a node that has not claimed it`)
    const timeout = Duration.toMillis(this.#policy.callbackTimeout)
    check(
      5,
      claim === undefined || post.senderAt + timeout <= claim.leaseEnds,
      `${what} is sent when the lease of its claim is over before the answer`
    )
    const waiting = mine.length === 1 ? mine.flatMap((one) => this.#before(one)) : []
    check(6, waiting.length === 0, `${what} is sent before delivery ${waiting[0]?.id} of the same object has ended`)
    return record
  }

  /** Pending deliveries about the same object to the same subscription that were queued before this one. */
  #before({ event, id, subscriptionId }: Delivery): ReadonlyArray<Delivery> {
    return [...this.pending.values()].filter((one) =>
      one.id < id && one.subscriptionId === subscriptionId &&
      one.event.objectType === event.objectType && one.event.objectId === event.objectId
    )
  }

  /** Whether nothing holds this delivery up but its own receiver. */
  isFirst(delivery: Delivery): boolean {
    return this.#before(delivery).length === 0
  }

  wasSent({ event, subscriptionId }: Delivery): boolean {
    return this.#sent.has(`${subscriptionId}:${event.id}`)
  }
}
