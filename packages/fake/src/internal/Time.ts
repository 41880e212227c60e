/** Moves the time of a fake forward, with everything that becomes due. */
import type { Delivery, DeliveryStore } from "@startlist/core/Delivery"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { MovableClock } from "./MovableClock.ts"
import type { Receivers } from "./Receivers.ts"

/** Maximum real time in milliseconds for which a receiver may delay the clock. */
const patience = 5000

const pause = (millis: number) => new Promise<void>((resolve) => void setTimeout(resolve, millis))

/** The first pending delivery of each object: the others wait for it. */
const heads = (pending: ReadonlyArray<Delivery>): ReadonlyArray<Delivery> => {
  const first = new Map<string, Delivery>()
  for (const delivery of pending) {
    const { event: { objectId, objectType }, subscriptionId } = delivery
    first.set(`${subscriptionId} ${objectType} ${objectId}`, delivery)
  }
  return [...first.values()]
}

export const make = (
  clock: MovableClock,
  store: () => DeliveryStore.Service,
  { inFlight }: Pick<Receivers, "inFlight">
) => {
  const now = () => clock.unsafeCurrentTimeMillis()

  /** Times of the next attempts. Deliveries are newest first, so the oldest of each object remains in the map. */
  const dueTimes = async (): Promise<ReadonlyArray<number>> => {
    const filter = { applicationId: Option.none(), state: Option.some("pending" as const), after: Option.none() }
    const pending = await Effect.runPromise(store().list({ ...filter, limit: 100_000 }))
    return heads(pending).map(({ dueAt }) => dueAt.epochMillis)
  }

  /** Waits until nothing is due, and no request to a receiver is in progress. */
  const settle = async (): Promise<void> => {
    const end = Date.now() + patience
    while (Date.now() < end) {
      if (inFlight() === 0 && (await dueTimes()).every((due) => due > now())) return
      await pause(5)
    }
  }

  return {
    now,
    settle,
    /** Moves the clock forward by a number of milliseconds, from one due attempt to the next. */
    advance: async (millis: number): Promise<void> => {
      const end = now() + millis
      await settle()
      while (now() < end) {
        const next = Math.min(end, ...(await dueTimes()).filter((due) => due > now()))
        clock.moveTo(next)
        await settle()
      }
    }
  }
}
