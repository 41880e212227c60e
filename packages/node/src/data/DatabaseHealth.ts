/** Whether the database can serve, for readiness and for `startlist doctor`, and whether its clock agrees with ours. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { clockTolerance } from "@startlist/core/Policy"
import { StoreError } from "@startlist/core/Store"
import { clockDifference, type Database, writable } from "@startlist/postgres/Database"
import * as Migrations from "@startlist/postgres/Migrations"
import { shared } from "../SharedWork.ts"
import * as Prometheus from "../telemetry/Prometheus.ts"
import * as ServiceTables from "./ServiceTables.ts"

/** The findings about a database that answers. */
export interface Health {
  /** Migrations of all tables, compared with this program. */
  readonly tables: Migrations.Status
  /** Why the database takes no writes. None if it does, and if the tables are not those of this program. */
  readonly refusal: Option.Option<StoreError>
}

/** A database that needs longer to write a row counts as unavailable. */
const patience = Duration.seconds(2)

/** The reason of a database that does not answer within `patience`. */
export const tooSlow = "the database did not answer in time"

const failed = (reason: string) => new StoreError({ cause: new Error(reason) })

const unlessSlow = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.timeoutFail(effect, { duration: patience, onTimeout: () => failed(tooSlow) })

const toStoreError = (cause: unknown) => cause instanceof StoreError ? cause : new StoreError({ cause })

const compare: Effect.Effect<Migrations.Status, StoreError, SqlClient> = Effect.map(
  Effect.mapError(unlessSlow(Effect.forEach(ServiceTables.all, Migrations.status)), toStoreError),
  (states) => ({
    missing: states.flatMap(({ missing }) => missing),
    unknown: states.flatMap(({ unknown }) => unknown),
    breaking: states.flatMap(({ breaking }) => breaking)
  })
)

/**
 * Compares the tables with this program, and writes without changing anything. Each step ends within two seconds: the
 * write of a server that waits for a missing standby does not end. Fails if the database does not answer.
 */
export const examine: Effect.Effect<Health, StoreError, Database | SqlClient> = Effect.gen(function*() {
  const tables = yield* compare
  if (tables.missing.length > 0 || tables.breaking.length > 0) return { tables, refusal: Option.none() }
  return { tables, refusal: Either.getLeft(yield* Effect.either(unlessSlow(writable))) }
})

/** Why a database that answers cannot serve. */
const whyNotReady = (
  { refusal, tables: { breaking: [newer], missing: [step] } }: Health
): Option.Option<StoreError> => {
  if (newer !== undefined) return Option.some(failed(`migration ${newer} is of a newer version of Startlist`))
  if (step !== undefined) return Option.some(failed(`migration ${step} has not been run`))
  return refusal
}

export declare namespace DatabaseHealth {
  export interface Service {
    /** Name of the database in the start line. Contains no password. */
    readonly description: string
    /** Succeeds if the database takes writes and has this program's tables. Ends within 2 s. Cached for a second. */
    readonly check: Effect.Effect<void, StoreError>
  }
}

/** The database as load balancers and operators see it. */
export class DatabaseHealth extends Context.Tag("@startlist/node/DatabaseHealth")<
  DatabaseHealth,
  DatabaseHealth.Service
>() {}

/** The service. At most one examination per second, for any number of callers. */
export const make = (description: string): Effect.Effect<DatabaseHealth.Service, never, Database | SqlClient> =>
  Effect.gen(function*() {
    const services = yield* Effect.context<Database | SqlClient>()
    const check = unlessSlow(examine).pipe(
      Effect.flatMap((health) => Option.match(whyNotReady(health), { onNone: () => Effect.void, onSome: Effect.fail })),
      Effect.provide(services),
      Effect.either
    )
    return { description, check: Effect.flatten(yield* shared(check, Duration.seconds(1))) }
  })

const clockGauge = Prometheus.gauge(
  "clock_difference_seconds",
  "Seconds by which this node's clock is ahead of the database's, negative if it is behind"
)

/** `agrees`: at most a second. `refused`: beyond the tolerance, so that the node must not work. */
type Level = "agrees" | "differs" | "refused"

/** The level of a difference in seconds. */
export const levelOf = (ahead: number): Level =>
  Math.abs(ahead) <= 1 ? "agrees" : Math.abs(ahead) <= Duration.toSeconds(clockTolerance) ? "differs" : "refused"

/** The clock of this node differs from that of the database by more than the tolerance. */
export class ClockDiffers extends Data.TaggedError("@startlist/node/ClockDiffers") {}

/**
 * The last comparison of this node's clock with that of the database. Expiries, due times and leases of all nodes are
 * instants of their clocks: a node whose clock is ahead delivers what others are delivering.
 */
export interface DatabaseClock {
  /** Fails beyond the tolerance. */
  readonly check: Effect.Effect<void, ClockDiffers>
  /** Runs work that never ends, except beyond the tolerance. */
  readonly whileItAgrees: <R>(work: Effect.Effect<never, never, R>) => Effect.Effect<never, never, R>
}

const logLevel = (level: Level, ahead: number) => {
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
export const makeClock: Effect.Effect<DatabaseClock, never, Database | Scope.Scope> = Effect.gen(function*() {
  const present = yield* SubscriptionRef.make<Level>("agrees")
  const compare = Effect.gen(function*() {
    const ahead = yield* clockDifference
    clockGauge.update(ahead)
    const level = levelOf(ahead)
    if (level === (yield* SubscriptionRef.get(present))) return
    yield* logLevel(level, ahead)
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
