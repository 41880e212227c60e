/**
 * Compares this node's clock with that of the database, at the start and every minute. Expiries, due times and leases of
 * all nodes are instants of their clocks: a node whose clock is ahead delivers what others are delivering.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { clockTolerance } from "@startlist/core/Policy"
import { clockDifference, type Database } from "@startlist/postgres/Database"
import * as Prometheus from "../telemetry/Prometheus.ts"

const difference = Prometheus.gauge(
  "clock_difference_seconds",
  "Seconds by which this node's clock is ahead of the database's, negative if it is behind"
)

/** `agrees`: at most a second. `refused`: beyond the tolerance, so that the node must not work. */
export type Level = "agrees" | "differs" | "refused"

/** The level of a difference in seconds. */
export const levelOf = (ahead: number): Level =>
  Math.abs(ahead) <= 1 ? "agrees" : Math.abs(ahead) <= Duration.toSeconds(clockTolerance) ? "differs" : "refused"

/** The clock of this node differs from that of the database by more than the tolerance. */
export class ClockDiffers extends Data.TaggedError("@startlist/node/ClockDiffers") {}

/** The last comparison. */
export interface DatabaseClock {
  /** Fails beyond the tolerance. */
  readonly check: Effect.Effect<void, ClockDiffers>
  /** Runs work that never ends, except beyond the tolerance. */
  readonly whileItAgrees: <R>(work: Effect.Effect<never, never, R>) => Effect.Effect<never, never, R>
}

const log = (level: Level, ahead: number) => {
  const seconds = `${Math.abs(ahead).toFixed(1)} s ${ahead > 0 ? "ahead of" : "behind"} the database's`
  switch (level) {
    case "agrees":
      return Effect.logInfo("this node's clock agrees with the database's again")
    case "differs":
      return Effect.logWarning(`this node's clock is ${seconds}: synchronize both with NTP`)
    case "refused":
      return Effect.logError(`this node's clock is ${seconds}: it is not ready, and delivers nothing`)
  }
}

/** Compares the clocks now, and every minute. Without the database, the last comparison counts. */
export const make: Effect.Effect<DatabaseClock, never, Database | Scope.Scope> = Effect.gen(function*() {
  const present = yield* SubscriptionRef.make<Level>("agrees")
  const compare = Effect.gen(function*() {
    const ahead = yield* clockDifference
    difference.update(ahead)
    const level = levelOf(ahead)
    if (level === (yield* SubscriptionRef.get(present))) return
    yield* log(level, ahead)
    yield* SubscriptionRef.set(present, level)
  }).pipe(Effect.catchAll(() => Effect.void))
  yield* compare
  yield* Effect.forkScoped(Effect.schedule(compare, Schedule.spaced("1 minute")))
  const until = (isRefused: boolean) =>
    Stream.runHead(Stream.filter(present.changes, (level) => (level === "refused") === isRefused))
  return {
    check: Effect.flatMap(
      SubscriptionRef.get(present),
      (level) => level === "refused" ? new ClockDiffers() : Effect.void
    ),
    whileItAgrees: (work) => Effect.forever(Effect.zipRight(until(false), Effect.raceAll([work, until(true)])))
  }
})
