/**
 * Who may attempt what: the claims, the requests that were sent, and what was recorded of them. With the checks of the
 * laws 4 to 6 and 8 about them.
 */
import type { Attempt, Claimed, ClaimRequest, Delivery, DeliveryId, Settlement } from "@startlist/core/Delivery"
import type { Policy } from "@startlist/core/Policy"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { type DeliveryChecker, keyOf } from "./DeliveryChecker.ts"
import type { History } from "./History.ts"
import type { SubscriptionChecker } from "./SubscriptionChecker.ts"

/** One request that delivers an event. */
export interface Sent {
  /** When it started, by the sender's clock. */
  readonly senderAt: number
  readonly body: string
  /** What came back to the sender, if anything did. */
  answer: { readonly status: number; readonly afterMs: number } | undefined
}

/** What a node is about to send. */
export interface Post {
  readonly id: string
  readonly body: string
  readonly callbackUrl: string
  readonly senderAt: number
}

interface Claim {
  readonly holder: object
  readonly token: string
  readonly leaseEnds: number
}

const readBody = Schema.decodeSync(Schema.parseJson(Schema.Struct({ subscription_id: SubscriptionId })))

const acknowledged = ({ answer }: Sent, limit: number): boolean =>
  answer !== undefined && answer.status === 200 && answer.afterMs < limit

export class AttemptChecker {
  readonly #history: History
  readonly #subscriptions: SubscriptionChecker
  readonly #deliveries: DeliveryChecker
  /** Milliseconds that a receiver has. */
  readonly #timeout: number
  readonly #claims = new Map<DeliveryId, Claim>()
  /** Number of claims of each delivery since an outcome was recorded. */
  readonly #counts = new Map<DeliveryId, number>()
  /** Number of claims without an outcome that a delivery is allowed. */
  readonly #allowed: number
  readonly #sent = new Map<string, Array<Sent>>()

  constructor(
    history: History,
    subscriptions: SubscriptionChecker,
    deliveries: DeliveryChecker,
    policy: Policy.Service
  ) {
    this.#history = history
    this.#subscriptions = subscriptions
    this.#deliveries = deliveries
    this.#timeout = Duration.toMillis(policy.callbackTimeout)
    this.#allowed = policy.deliveryClaims
  }

  claimed(request: ClaimRequest, claimed: ReadonlyArray<Claimed>, holder: object): void {
    for (const { claims, delivery: { id }, leaseEnds, subscription } of claimed) {
      const left = (this.#claims.get(id)?.leaseEnds ?? -Infinity) - request.now.epochMillis
      this.#history.check(
        5,
        left <= 0,
        () => `delivery ${id} was claimed twice, the second time ${left} ms before the first lease ends`
      )
      this.#history.check(
        8,
        this.#subscriptions.get(subscription.id)?.removed === false,
        () => `delivery ${id} was claimed after subscription ${subscription.id} was deleted`
      )
      const count = (this.#counts.get(id) ?? 0) + 1
      this.#history.check(5, claims === count, () => `claim ${count} of delivery ${id} counts as its claim ${claims}`)
      this.#counts.set(id, count)
      this.#history.record(`delivery ${id} is claimed`)
      this.#claims.set(id, { holder, token: request.token, leaseEnds: leaseEnds.epochMillis })
    }
  }

  settled(settlements: ReadonlyArray<Settlement>, recorded: ReadonlyArray<DeliveryId>): void {
    for (const id of recorded) {
      // A node that records an old attempt again may have a newer one of the same delivery beside it.
      const holds = settlements.some(({ delivery, token }) =>
        delivery.id === id && token === this.#claims.get(id)?.token
      )
      this.#history.check(
        5,
        holds,
        () => `an attempt of delivery ${id} was recorded under a claim that is not the last one`
      )
      const isSetAside = settlements.some(({ delivery }) => delivery.id === id && delivery.state === "set_aside")
      const count = this.#counts.get(id) ?? 0
      this.#history.check(
        5,
        !isSetAside || count > this.#allowed,
        () => `delivery ${id} is set aside after ${count} claims`
      )
      this.#counts.delete(id)
      this.#claims.delete(id)
    }
  }

  /** Claims were ended without an attempt, and do not count. */
  released(ids: ReadonlyArray<DeliveryId>): void {
    for (const id of ids) {
      this.#history.record(`delivery ${id} is released`)
      this.#claims.delete(id)
      this.#counts.set(id, (this.#counts.get(id) ?? 1) - 1)
    }
  }

  /** A request to a receiver starts. */
  sent(post: Post, holder: object): Sent {
    const record: Sent = { senderAt: post.senderAt, body: post.body, answer: undefined }
    const { subscription_id: subscriptionId } = readBody(post.body)
    const key = keyOf(subscriptionId, post.id)
    const earlier = this.#sent.get(key) ?? []
    this.#sent.set(key, [...earlier, record])
    this.#history.count("attempts")
    const of = this.#deliveries.of(key)
    const mine = of.filter(({ id }) => this.#claims.get(id)?.holder === holder)
    const claim = mine.flatMap(({ id }) => this.#claims.get(id) ?? []).at(-1)
    const what = `${post.id} to subscription ${subscriptionId}`
    const check = (law: number, holds: boolean, message: string) => this.#history.check(law, holds, () => message)

    check(4, this.#deliveries.isSaved(post.id), `${what} is sent, and was never saved`)
    check(5, earlier.every((one) => one.body === post.body), `${what} is sent with other bytes than before`)
    const isItsCallback = this.#subscriptions.get(subscriptionId)?.subscription.callbackUrl === post.callbackUrl
    check(8, isItsCallback, `${what} is sent to ${post.callbackUrl}, which is not its callback`)
    const mayBeCancelled = of.some(({ state }) => state === "cancelled")
    check(5, mayBeCancelled || of.some(({ state }) => state === "pending"), `${what} is sent again after its end`)
    check(5, mayBeCancelled || claim !== undefined, `${what} is sent by a node that has not claimed it`)
    const isInTime = claim === undefined || post.senderAt + this.#timeout <= claim.leaseEnds
    check(5, isInTime, `${what} is sent when the lease of its claim is over before the answer`)
    const waiting = mine.length === 1 ? mine.flatMap((one) => this.#deliveries.before(one)) : []
    check(6, waiting.length === 0, `${what} is sent before delivery ${waiting[0]?.id} of the same object has ended`)
    return record
  }

  wasSent({ event, subscriptionId }: Delivery): boolean {
    return this.#sent.has(keyOf(subscriptionId, event.id))
  }

  /** A recorded attempt is one that was made, and came out as recorded. */
  recorded({ event, id, subscriptionId }: Delivery, attempt: Attempt): void {
    const made = (this.#sent.get(keyOf(subscriptionId, event.id)) ?? [])
      .filter(({ senderAt }) => senderAt === attempt.at.epochMillis)
    this.#history.check(5, made.length > 0, () => `delivery ${id} records an attempt that nobody made`)
    if (attempt.outcome === "delivered") {
      this.#history.check(
        4,
        made.some((sent) => acknowledged(sent, this.#timeout + 1)),
        () => `delivery ${id} counts as delivered, and its receiver never acknowledged it in time`
      )
    } else {
      this.#history.check(
        5,
        made.some((sent) => !acknowledged(sent, this.#timeout)),
        () => `an attempt of delivery ${id} counts as ${attempt.outcome}, and its receiver acknowledged it in time`
      )
    }
  }
}
