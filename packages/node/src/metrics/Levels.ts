/** What is so now: the queue, the pool, the version. Looked at when somebody asks, and at intervals for a collector. */
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

const pending = gauge("deliveries_pending", "Deliveries that have not come to their end, over all nodes")
const due = gauge(
  "deliveries_due",
  "Deliveries whose next attempt is due and neither paused nor suspended, over all nodes"
)
const oldestDue = gauge("delivery_oldest_due_seconds", "How long the oldest due delivery has been due, over all nodes")
const connections = gauge("database_connections", "Connections of this node's pool", "state")
const waiting = gauge("database_waiting", "Statements of this node that wait for a connection")
const build = gauge("build_info", "Always 1, with the version of the program", "version")
const databaseUp = gauge("database_up", "1 if the database took a write when the queue was last looked at")

/** No more often than that, however many ask. */
const resolution = Duration.seconds(1)

/** So many times as long as it took to count, the next count waits: a queue of millions is not counted all the time. */
const rest = 20

/** Nobody who asks waits longer: the numbers stay what they were, until they are known. */
const patience = Duration.seconds(2)

/** Whether the database takes writes. That it cannot count in time would not mean that it is away. */
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

/** Counts in a fiber of its own, one at a time, whoever asks and however soon they go away again. */
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
    // While the embedded database counts, it answers nobody else.
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

/** Looks at all of it. Never fails. */
export const make: Effect.Effect<Effect.Effect<void>, never, Database> = Effect.gen(function*() {
  build.update(1, version)
  const database = yield* Database
  return Effect.zipRight(
    yield* makeLookAtQueue,
    Effect.asVoid(Effect.provideService(lookAtPool, Database, database))
  )
})
