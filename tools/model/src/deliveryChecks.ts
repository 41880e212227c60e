/** Checks the laws of deliveries on the requests that receivers got and on the records. */
import type { Delivery } from "@startlist/core/Delivery"
import { body, toSeconds } from "@startlist/core/Event"
import * as Arr from "effect/Array"
import * as Option from "effect/Option"
import type { Received } from "@startlist/testing/ScriptedCallbacks"

export interface Evidence {
  /** All deliveries ever, also purged ones, oldest first. */
  readonly deliveries: ReadonlyArray<Delivery>
  readonly received: ReadonlyArray<Received>
  /** Milliseconds at which subscriptions were removed. */
  readonly removed: ReadonlyMap<number, number>
  /** Whether every attempt must be recorded: nothing was killed, and no store failed. */
  readonly isCalm: boolean
}

/** Identifies the ordering key of a delivery. */
export const objectOf = ({ event, subscriptionId }: Delivery) =>
  `${subscriptionId} ${event.objectType} ${event.objectId}`

/** Whether two deliveries have one ordering key: the same object and the same subscription. */
export const isSameObject = (one: Delivery, other: Delivery): boolean => objectOf(one) === objectOf(other)

/** Whether events about one object have growing sequences, in the order in which they were saved. */
export const sequencesGrow = (deliveries: ReadonlyArray<Pick<Delivery, "event">>): boolean => {
  const events = deliveries.map(({ event }) => event)
  const firsts = events.filter(({ id }, place) => events.findIndex((one) => one.id === id) === place)
  return firsts.every(({ sequence }, place) => sequence > (firsts[place - 1]?.sequence ?? -1))
}

/** Identifies an event for a subscription by its body and sequence, which must be the same at each attempt. */
const bytesOf = ({ event, subscriptionId }: Delivery) => contentOf({ ...event, body: body(event, subscriptionId) })

const contentOf = ({ body, id, sequence }: Pick<Received, "id" | "sequence" | "body">) => `${id} ${sequence} ${body}`

/** Whether the attempts of a delivery fit its state. */
export const attemptsFit = ({ attempts, endedAt, state }: Delivery, most: number): boolean => {
  const successes = attempts.filter(({ outcome }) => outcome === "delivered").length
  if (Option.isSome(endedAt) === (state === "pending")) return false
  switch (state) {
    case "pending":
    case "cancelled":
    case "set_aside":
      return attempts.length < most && successes === 0
    case "exhausted":
      return attempts.length === most && successes === 0
    case "delivered":
      return attempts.length <= most && successes === 1 && attempts.at(-1)?.outcome === "delivered"
  }
}

/** 5 and 60 seconds, less the jitter. */
const shortestPauses = [4_000, 48_000]

const pausesAreRight = ({ attempts }: Delivery): boolean =>
  attempts.every(({ at, durationMs }, index) => {
    const following = attempts[index + 1]
    return following === undefined ||
      following.at.epochMillis - at.epochMillis - durationMs >= (shortestPauses[index] ?? Infinity)
  })

const count = <A>(values: ReadonlyArray<A>, isCounted: (value: A) => boolean) => values.filter(isCounted).length

/** Returns the first broken law, if any. */
export const findViolation = ({ deliveries, isCalm, received, removed }: Evidence): string | undefined => {
  const firsts = new Map<string, Delivery>()
  for (const delivery of deliveries) {
    const id = `delivery ${delivery.id} (${delivery.state}, ${delivery.attempts.length} attempts)`
    if (!attemptsFit(delivery, 3)) return `law 5: the attempts of ${id} do not fit its state`
    if (!pausesAreRight(delivery)) return `law 5: the attempts of ${id} follow each other too fast`
    const earlier = firsts.get(objectOf(delivery))
    const [first] = delivery.attempts
    if (earlier !== undefined && first !== undefined) {
      const isOver = Option.exists(earlier.endedAt, (at) => at.epochMillis <= first.at.epochMillis)
      if (!isOver) return `law 6: ${id} was attempted before the earlier delivery ${earlier.id} of its object had ended`
    }
    firsts.set(objectOf(delivery), delivery)
  }

  for (const [object, same] of Object.entries(Arr.groupBy(deliveries, objectOf))) {
    if (!sequencesGrow(same)) return `law 6: the sequences of the events about ${object} do not grow`
  }

  const posts = received.filter(({ kind }) => kind === "event")
  const known = new Map<string, Array<Delivery>>()
  for (const delivery of deliveries) known.set(bytesOf(delivery), [...(known.get(bytesOf(delivery)) ?? []), delivery])
  for (const post of posts) {
    const same = known.get(contentOf(post))
    if (same === undefined) return `law 5: a receiver got ${post.id} with bytes that no delivery has: ${post.body}`
    const [delivery] = same
    const removedAt = delivery && removed.get(delivery.subscriptionId)
    if (removedAt !== undefined && post.at > removedAt) {
      return `law 8: a receiver got ${post.body} after its subscription was removed`
    }
    if (delivery !== undefined && post.at < toSeconds(delivery.event.time) * 1000) {
      return `law 4: a receiver got ${post.body} before it happened`
    }
    if (post.signatures < 1) return `a receiver got ${post.body} without a signature`
  }
  for (const [bytes, same] of known) {
    const got = posts.filter((post) => contentOf(post) === bytes)
    const recorded = same.flatMap(({ attempts }) => attempts)
    if (got.length < recorded.length) return `law 5: fewer posts were sent than are recorded for ${bytes}`
    // An attempt that was in flight when its subscription was removed cannot be recorded.
    if (!isCalm || same.some(({ state }) => state === "cancelled")) continue
    if (got.length > recorded.length) return `law 5: more posts were sent than are recorded for ${bytes}`
    const acknowledged = count(got, ({ behaviour }) => behaviour === "Comply")
    if (acknowledged !== count(same, ({ state }) => state === "delivered")) {
      return `law 5: ${acknowledged} posts were acknowledged, but the record says otherwise of ${bytes}`
    }
  }
  return undefined
}
