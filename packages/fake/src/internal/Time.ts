/** The time of a fake: a clock that can be moved forward, with everything that becomes due. */
import type { Delivery, DeliveryStore } from "@startlist/core/Delivery"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Receivers } from "./Faults.ts"

/** A clock that follows the real time until it is moved. Sleeping fibers wake up when their time has come. */
export interface MovableClock extends Clock.Clock {
  /** Moves the time forward to this instant, in milliseconds since 1970, rounded up. An earlier one changes nothing. */
  readonly moveTo: (millis: number) => void
}

interface Sleeper {
  readonly wakesAt: number
  readonly wake: () => void
  timer: NodeJS.Timeout | undefined
}

/** The longest delay of `setTimeout`. */
const maxDelay = 2 ** 31 - 1

/** A clock that shows the real time. */
export const makeClock = (): MovableClock => {
  let offset = 0
  const sleepers = new Set<Sleeper>()
  const now = () => Date.now() + offset
  const nanos = () => BigInt(now()) * 1_000_000n

  /** Wakes a sleeping fiber if its time has come, or checks again later. */
  const check = (sleeper: Sleeper): void => {
    clearTimeout(sleeper.timer)
    const left = sleeper.wakesAt - now()
    if (left > 0) {
      sleeper.timer = setTimeout(check, Math.min(left, maxDelay), sleeper)
      return
    }
    sleepers.delete(sleeper)
    sleeper.wake()
  }

  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.async<void>((resume) => {
        const millis = Duration.toMillis(duration)
        if (!Number.isFinite(millis)) return
        const wake = () => resume(Effect.void)
        const sleeper: Sleeper = { wakesAt: now() + millis, wake, timer: undefined }
        sleepers.add(sleeper)
        check(sleeper)
        return Effect.sync(() => {
          clearTimeout(sleeper.timer)
          sleepers.delete(sleeper)
        })
      }),
    moveTo: (millis) => {
      offset += Math.max(0, Math.ceil(millis) - now())
      for (const sleeper of sleepers) check(sleeper)
    }
  }
}

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

/** The time of a fake with this clock, these deliveries, and these receivers. */
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
