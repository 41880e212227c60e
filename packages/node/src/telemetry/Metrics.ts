/**
 * The page of metrics of this process, and its gauges: of the queue, the pool, the workers of a Citus cluster, and the
 * version. They are updated for each page, and periodically for a collector.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Queue from "@startlist/postgres/Queue"
import * as Citus from "@startlist/postgres/Citus"
import { Database, writable } from "@startlist/postgres/Database"
import { shared } from "../SharedWork.ts"
import { version } from "../Version.ts"
import * as Prometheus from "./Prometheus.ts"

const pending = Prometheus.gauge("deliveries_pending", "Pending deliveries, over all nodes")
const due = Prometheus.gauge(
  "deliveries_due",
  "Pending deliveries whose next attempt is due, unless paused or suspended, over all nodes"
)
const oldestDue = Prometheus.gauge(
  "delivery_oldest_due_seconds",
  "Time since the oldest due delivery became due, over all nodes"
)
const connections = Prometheus.gauge("database_connections", "Connections in this node's pool, by state", "state")
const waiting = Prometheus.gauge("database_waiting", "Statements of this node that are waiting for a connection")
const build = Prometheus.gauge("build_info", "Always 1, with the version of the program", "version")
const databaseUp = Prometheus.gauge("database_up", "1 if the database took a write at the last check, otherwise 0")
const workerUp = Prometheus.gauge(
  "citus_worker_up",
  "1 if the coordinator reached this worker at the last check, otherwise 0",
  "worker"
)

/** Minimum interval between counts, and between checks of the workers, for any number of callers. */
const resolution = Duration.seconds(1)

/** Wait 20 times the duration of the last count before the next one: counting a queue of millions takes long. */
const rest = 20

/** Maximum waiting time of a caller for a count. After it, the previous values are used. */
const patience = Duration.seconds(2)

/** Maximum waiting time of a caller for a check of the workers, which takes at most two seconds for each. */
const workersPatience = Duration.seconds(3)

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

/**
 * The update of the gauges of the queue. Counts in its own fiber, one at a time, so that an interrupted caller does not
 * interrupt the count.
 */
export const makeSampleQueue: Effect.Effect<Effect.Effect<void>, never, Database> = Effect.gen(function*() {
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

const pool = Effect.flatMap(Database, (database) =>
  Effect.map(
    database.connections,
    Option.map(({ idle, open, waiting: statements }) => {
      connections.update(open - idle, "used")
      connections.update(idle, "idle")
      waiting.update(statements)
    })
  ))

/** Updates the gauge of the workers, if the tables are divided. Without the coordinator, the previous values stay. */
const makeSampleWorkers: Effect.Effect<Effect.Effect<void>, never, Database | SqlClient> = Effect.gen(function*() {
  const { dialect } = yield* Database
  if (!dialect.isDivided) return Effect.void
  const known = new Set<string>()
  const services = yield* Effect.context<SqlClient>()
  const look = Effect.match(Citus.workers, {
    onFailure: () => {},
    onSuccess: (workers) => {
      // A series cannot be removed, and a worker that has left the cluster is neither up nor down.
      for (const address of known) workerUp.update(NaN, address)
      for (const { address, answers } of workers) {
        known.add(address)
        workerUp.update(answers ? 1 : 0, address)
      }
    }
  })
  const sharedLook = yield* shared(Effect.provide(look, services), resolution)
  return Effect.asVoid(Effect.timeoutOption(sharedLook, workersPatience))
})

/** The update of all gauges. Never fails. */
export const makeSample: Effect.Effect<Effect.Effect<void>, never, Database | SqlClient> = Effect.gen(function*() {
  build.update(1, version)
  const database = yield* Database
  const sampleQueue = yield* makeSampleQueue
  const samplePool = Effect.provideService(pool, Database, database)
  const sampleWorkers = yield* makeSampleWorkers
  return Effect.all([Effect.zipRight(sampleQueue, samplePool), sampleWorkers], {
    concurrency: "unbounded",
    discard: true
  })
})

/**
 * Starts to collect Node's metrics of this process: memory, CPU, garbage collection, event loop delays. prom-client is
 * loaded with the first request for metrics, so that the start does not wait for it.
 */
const watch = Effect.promise(async () => {
  const { collectDefaultMetrics, Registry } = (await import("prom-client")).default
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
})

/** Renders all metrics as Prometheus text. An `installation` is a label of each series. */
export const makeRender = Effect.fnUntraced(function*(installation: Option.Option<string>) {
  const common = Option.match(installation, { onNone: () => ({}), onSome: (name) => ({ installation: name }) })
  const watching = yield* shared(watch)
  const sample = yield* makeSample
  return Effect.gen(function*() {
    const registry = yield* watching
    registry.setDefaultLabels(common)
    yield* sample
    const process = yield* Effect.promise(() => registry.metrics())
    return {
      contentType: registry.contentType,
      body: Prometheus.render(Metric.unsafeSnapshot(), Prometheus.prefix, common) + process
    }
  })
})
