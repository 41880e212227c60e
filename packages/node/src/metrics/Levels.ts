/** Gauges of the queue, the pool and the version. Updated on request, and periodically for a collector. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { Database } from "@startlist/postgres/Database"
import { writable } from "@startlist/postgres/Migrations"
import * as Queue from "@startlist/postgres/Queue"
import { shared } from "../internal/shared.ts"
import { version } from "../internal/version.ts"
import * as Series from "./Series.ts"

const gauge = (name: string, description: string, ...labels: ReadonlyArray<string>) =>
  Series.make(Metric.gauge(`${Series.prefix}${name}`, { description }), ...labels)

const pending = gauge("deliveries_pending", "Pending deliveries, over all nodes")
const due = gauge(
  "deliveries_due",
  "Pending deliveries whose next attempt is due, unless paused or suspended, over all nodes"
)
const oldestDue = gauge("delivery_oldest_due_seconds", "Time since the oldest due delivery became due, over all nodes")
const connections = gauge("database_connections", "Connections in this node's pool, by state", "state")
const waiting = gauge("database_waiting", "Statements of this node that are waiting for a connection")
const build = gauge("build_info", "Always 1, with the version of the program", "version")
const databaseUp = gauge("database_up", "1 if the database took a write at the last check, otherwise 0")

/** Minimum interval between counts, for any number of callers. */
const resolution = Duration.seconds(1)

/** Wait 20 times the duration of the last count before the next one: counting a queue of millions takes long. */
const rest = 20

/** Maximum waiting time of a caller. After it, the previous values are used. */
const patience = Duration.seconds(2)

/** Whether the database takes writes. A slow count does not mean that it is unavailable. */
const ping = Effect.gen(function*() {
  const isUp = yield* Effect.isSuccess(Effect.timeout(writable, patience))
  databaseUp.update(isUp ? 1 : 0)
  return isUp
})

const count = Effect.match(Queue.look, {
  onSuccess: (queue) => {
    pending.update(queue.pending)
    due.update(queue.due)
    oldestDue.update(Duration.toSeconds(queue.oldestDue))
  },
  onFailure: () => {}
})

/** Counts in its own fiber, one at a time, so that an interrupted caller does not interrupt the count. */
const makeLookAtQueue = Effect.gen(function*() {
  const database = yield* Database
  const isUp = yield* shared(Effect.provideService(ping, Database, database), resolution)
  let counting: Fiber.RuntimeFiber<void> | undefined
  let next = 0
  const timed = Effect.flatMap(
    Effect.timed(Effect.provideService(count, Database, database)),
    ([took]) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        next = now + Duration.toMillis(Duration.max(resolution, Duration.times(took, rest)))
      })
  ).pipe(Effect.ensuring(Effect.sync(() => {
    counting = undefined
  })))
  const begin = Effect.suspend(() =>
    counting === undefined
      ? Effect.map(Effect.forkDaemon(timed), (fiber) => {
        counting = fiber
      })
      : Effect.void
  )
  return Effect.gen(function*() {
    // No ping during a count: the embedded database runs one statement at a time.
    if (counting === undefined && (yield* isUp) && (yield* Clock.currentTimeMillis) >= next) {
      yield* Effect.uninterruptible(begin)
    }
    if (counting !== undefined) yield* Effect.timeoutOption(Fiber.await(counting), patience)
  })
})

const lookAtPool = Effect.flatMap(Database, (database) =>
  Effect.map(
    database.connections,
    Option.map(({ idle, open, waiting: statements }) => {
      connections.update(open - idle, "used")
      connections.update(idle, "idle")
      waiting.update(statements)
    })
  ))

/** Updates all gauges. Never fails. */
export const make: Effect.Effect<Effect.Effect<void>, never, Database> = Effect.gen(function*() {
  build.update(1, version)
  const database = yield* Database
  return Effect.zipRight(
    yield* makeLookAtQueue,
    Effect.asVoid(Effect.provideService(lookAtPool, Database, database))
  )
})
