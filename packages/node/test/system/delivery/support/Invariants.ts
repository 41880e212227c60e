/** Invariants of received and recorded deliveries, for any crashes. */
import type { Delivery } from "@startlist/core"
import { grouped } from "./Installation.ts"
import type { Received } from "@startlist/test-support/Receiver"

/** Maximum number of attempts of a delivery (requirements §8). */
const maxAttempts = 3

/** A subscriber has two seconds (requirements §6.3), and two clocks may differ in a few of their milliseconds. */
const leastTimeoutMillis = 1990

/** Only a timeout may be recorded without a received request: the machine may have paused. */
export const ranOutOfTime = ({ durationMs, outcome }: Delivery.Attempt): boolean =>
  outcome === "timeout" && durationMs >= leastTimeoutMillis

const summary = (attempts: Delivery.Delivery["attempts"]): string =>
  attempts.map(({ detail, durationMs, outcome }) => `${outcome} after ${durationMs} ms (${detail})`).join(", ")

/** The identifiers without consecutive repeats. */
const turns = (ids: ReadonlyArray<string>): ReadonlyArray<string> => ids.filter((id, i) => id !== ids[i - 1])

/** Violations by one delivery. */
const ofDelivery = (delivery: Delivery.Delivery, receipts: ReadonlyArray<Received>): ReadonlyArray<string> => {
  const { attempts, endedAt, state } = delivery
  const broken: Array<string> = []
  const acknowledged = receipts.filter(({ answered }) => answered === 200)
  const delivered = attempts.filter(({ outcome }) => outcome === "delivered")
  if (state === "pending") broken.push("is still pending")
  if (state === "set_aside") broken.push("is set aside")
  if (state === "delivered") {
    if (acknowledged.length === 0) broken.push("is recorded as delivered and was never acknowledged")
    if (attempts.at(-1)?.outcome !== "delivered") broken.push("is delivered without an attempt that says so")
  }
  if (delivered.length > (state === "delivered" ? 1 : 0)) broken.push("was attempted again after a recorded 200")
  if (state === "exhausted" && attempts.length !== maxAttempts) broken.push(`is exhausted after ${attempts.length}`)
  if (attempts.length > maxAttempts) broken.push(`has ${attempts.length} recorded attempts`)
  const least = attempts.filter((attempt) => !ranOutOfTime(attempt)).length
  if (receipts.length < least) broken.push(`has ${summary(attempts)}, ${receipts.length} came`)
  if (new Set(receipts.map(({ body }) => body)).size > 1) broken.push("came with different bytes")
  if (receipts.some(({ isSigned }) => !isSigned)) broken.push("came with a wrong signature")
  const end = endedAt._tag === "Some" ? endedAt.value.epochMillis : Infinity
  const late = receipts.filter(({ at }) => at > end)
  if (late.length > 0) broken.push(`came ${late.length} times after its end, as ${state}`)
  return broken.map((what) => `${delivery.event.id} to ${delivery.subscriptionId} ${what}`)
}

/** Violations of the order of the deliveries about one object to one subscriber. */
const ofObject = (deliveries: ReadonlyArray<Delivery.Delivery>, receipts: ReadonlyArray<Received>) => {
  const order = deliveries.map(({ event }) => event.id)
  const came = turns(receipts.map(({ id }) => id))
  const expected = order.filter((id) => came.includes(id))
  return came.join(" ") === expected.join(" ")
    ? []
    : [`object ${deliveries[0]?.event.objectId}: came as ${came.join(" ")} and not as ${expected.join(" ")}`]
}

/** All violations for one subscriber. Empty if there are none. Deliveries oldest first. */
export const broken = (
  deliveries: ReadonlyArray<Delivery.Delivery>,
  receipts: ReadonlyArray<Received>
): ReadonlyArray<string> => {
  const came = grouped<Received, string>(receipts, ({ id }) => id)
  const known = new Set<string>(deliveries.map(({ event }) => event.id))
  const objects = grouped(deliveries, ({ event }) => event.objectId)
  return [
    ...[...came.keys()].filter((id) => !known.has(id)).map((id) => `${id} came and was never committed`),
    ...deliveries.flatMap((delivery) => ofDelivery(delivery, came.get(delivery.event.id) ?? [])),
    ...[...objects.values()].flatMap((ofOne) => {
      const ids = new Set<string>(ofOne.map(({ event }) => event.id))
      return ofObject(ofOne, receipts.filter(({ id }) => ids.has(id)))
    })
  ]
}
