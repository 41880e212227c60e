/** Checks claims, requests to receivers, and recorded attempts (laws 4 to 6 and 8). */
import type { Attempt, Delivery, DeliveryId } from "@startlist/core/Delivery"
import type { Claimed, ClaimRequest, Settlement } from "@startlist/core/DeliveryQueue"
import type { Policy } from "@startlist/core/Policy"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { type DeliveryChecker, keyOf } from "./DeliveryChecker.ts"
import type { History } from "./History.ts"
import type { Oracle } from "./Oracle.ts"

/** One request that delivers an event. */
export interface Sent {
  /** When it started, by the clock of the sender. */
  readonly senderAt: number
  readonly body: string
  readonly sequence: number
  /** The answer that arrived at the sender. */
  answer: { readonly status: number; readonly afterMs: number } | undefined
}

/** A request that a node is about to send. */
export interface Post {
  readonly id: string
  readonly body: string
  readonly sequence: number
  readonly callbackUrl: string
  readonly senderAt: number
}

interface Claim {
  readonly holder: object
  readonly token: string
  readonly leaseEnds: number
}

const readBody = Schema.decodeSync(Schema.parseJson(Schema.Struct({ subscription_id: SubscriptionId })))

const isAcknowledged = ({ answer }: Sent, limit: number): boolean =>
  answer !== undefined && answer.status === 200 && answer.afterMs < limit

export type AttemptChecker = ReturnType<typeof makeAttemptChecker>

export const makeAttemptChecker = (
  history: History,
  oracle: Oracle,
  deliveries: DeliveryChecker,
  { callbackTimeout, deliveryClaims }: Policy.Service
) => {
  const timeout = Duration.toMillis(callbackTimeout)
  const claims = new Map<DeliveryId, Claim>()
  /** Number of claims of each delivery since an outcome was recorded. */
  const counts = new Map<DeliveryId, number>()
  const posts = new Map<string, Array<Sent>>()
  const postsOf = ({ event, subscriptionId }: Delivery) => posts.get(keyOf(subscriptionId, event.id)) ?? []

  return {
    claimed: (request: ClaimRequest, claimed: ReadonlyArray<Claimed>, holder: object): void => {
      for (const { claims: counted, delivery: { id }, leaseEnds, subscription } of claimed) {
        const left = (claims.get(id)?.leaseEnds ?? -Infinity) - request.now.epochMillis
        history.check(
          5,
          left <= 0,
          `delivery ${id} was claimed twice, the second time ${left} ms before its lease ends`
        )
        const subscribed = oracle.subscription(subscription.id)
        const isPresent = subscribed?.isRemoved === false
        history.check(8, isPresent, `delivery ${id} was claimed after subscription ${subscription.id} was deleted`)
        const isHeld = subscribed !== undefined && oracle.isHeld(subscribed)
        history.check(14, !isHeld, `delivery ${id} was claimed while the events of its application wait`)
        const count = (counts.get(id) ?? 0) + 1
        history.check(5, counted === count, `claim ${count} of delivery ${id} counts as its claim ${counted}`)
        counts.set(id, count)
        history.record(`delivery ${id} is claimed`)
        claims.set(id, { holder, token: request.token, leaseEnds: leaseEnds.epochMillis })
      }
    },
    settled: (settlements: ReadonlyArray<Settlement>, recorded: ReadonlyArray<DeliveryId>): void => {
      for (const id of recorded) {
        // A node that records an old attempt again may have a newer one of the same delivery.
        const mine = settlements.filter(({ delivery }) => delivery.id === id)
        const isHeld = mine.some(({ token }) => token === claims.get(id)?.token)
        history.check(5, isHeld, `an attempt of delivery ${id} was recorded under a claim that is not the last one`)
        const count = counts.get(id) ?? 0
        const isSetAside = mine.some(({ delivery }) => delivery.state === "set_aside")
        history.check(5, !isSetAside || count > deliveryClaims, `delivery ${id} is set aside after ${count} claims`)
        counts.delete(id)
        claims.delete(id)
      }
    },
    /** Claims ended without an attempt. They do not count. */
    released: (ids: ReadonlyArray<DeliveryId>): void => {
      for (const id of ids) {
        history.record(`delivery ${id} is released`)
        claims.delete(id)
        counts.set(id, (counts.get(id) ?? 1) - 1)
      }
    },
    /** A request to a receiver starts. */
    sent: (post: Post, holder: object): Sent => {
      const sent: Sent = { ...post, answer: undefined }
      const { subscription_id: subscriptionId } = readBody(post.body)
      const key = keyOf(subscriptionId, post.id)
      const earlier = posts.get(key) ?? []
      posts.set(key, [...earlier, sent])
      history.count("attempts")
      const of = deliveries.of(key)
      const mine = of.filter(({ id }) => claims.get(id)?.holder === holder)
      const claim = mine.flatMap(({ id }) => claims.get(id) ?? []).at(-1)
      const check = (law: number, holds: boolean, message: string) =>
        history.check(law, holds, `${post.id} to subscription ${subscriptionId} ${message}`)

      check(4, of.length > 0, "is sent, and was never saved")
      check(5, earlier.every(({ body }) => body === post.body), "is sent with other bytes than before")
      check(6, of.every(({ event }) => event.sequence === post.sequence), "is sent with another sequence than its own")
      const isItsCallback = oracle.subscription(subscriptionId)?.subscription.callbackUrl === post.callbackUrl
      check(8, isItsCallback, `is sent to ${post.callbackUrl}, which is not its callback`)
      const mayBeCancelled = of.some(({ state }) => state === "cancelled")
      check(5, mayBeCancelled || of.some(({ state }) => state === "pending"), "is sent again after its end")
      check(5, mayBeCancelled || claim !== undefined, "is sent by a node that has not claimed it")
      const isInTime = claim === undefined || post.senderAt + timeout <= claim.leaseEnds
      check(5, isInTime, "is sent when the lease of its claim is over before the answer")
      const [waiting] = mine.length === 1 ? mine.flatMap(deliveries.before) : []
      check(6, waiting === undefined, `is sent before delivery ${waiting?.id} of the same object has ended`)
      return sent
    },
    wasSent: (delivery: Delivery): boolean => postsOf(delivery).length > 0,
    /** A recorded attempt was made, and came out as recorded. */
    recorded: (delivery: Delivery, attempt: Attempt): void => {
      const made = postsOf(delivery).filter(({ senderAt }) => senderAt === attempt.at.epochMillis)
      const check = (law: number, holds: boolean, message: string) =>
        history.check(law, holds, `delivery ${delivery.id} ${message}`)
      check(5, made.length > 0, "records an attempt that nobody made")
      if (attempt.outcome === "delivered") {
        const isRight = made.some((sent) => isAcknowledged(sent, timeout + 1))
        check(4, isRight, "counts as delivered, and its receiver never acknowledged it in time")
      } else {
        const isRight = made.some((sent) => !isAcknowledged(sent, timeout))
        check(5, isRight, `records ${attempt.outcome}, and its receiver acknowledged it in time`)
      }
    }
  }
}
