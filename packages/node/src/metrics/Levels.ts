/** What is so now: the queue, the pool, the version. Looked at when somebody asks, and at intervals for a collector. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { Database } from "@startlist/postgres/Database"
import * as Queue from "@startlist/postgres/Queue"
import * as Series from "./Series.ts"

const gauge = (name: string, description: string, ...labels: ReadonlyArray<string>) =>
  Series.make(Metric.gauge(`${Series.prefix}${name}`, { description }), ...labels)

const pending = gauge("deliveries_pending", "Deliveries that have not come to their end, over all nodes")
const due = gauge("deliveries_due", "Deliveries whose next attempt is due, over all nodes")
const oldestDue = gauge("delivery_oldest_due_seconds", "How long the oldest due delivery has been due, over all nodes")
const connections = gauge("database_connections", "Connections of this node's pool", "state")
const waiting = gauge("database_waiting", "Statements of this node that wait for a connection")
const databaseUp = gauge("database_up", "1 if the database answered when the queue was last looked at")

/** No more often than that, however many ask. */
const resolution = Duration.seconds(1)

/** A database that takes longer is not waited for: the numbers stay what they were. */
const patience = Duration.seconds(2)

const lookAtQueue = Effect.matchEffect(Effect.timeout(Queue.look, patience), {
  onSuccess: (queue) =>
    Effect.sync(() => {
      databaseUp.update(1)
      pending.update(queue.pending)
      due.update(queue.due)
      oldestDue.update(Duration.toSeconds(queue.oldestDue))
    }),
  onFailure: () => Effect.sync(() => databaseUp.update(0))
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
  const database = yield* Database
  const look = Effect.zipRight(lookAtQueue, lookAtPool).pipe(Effect.provideService(Database, database), Effect.asVoid)
  return yield* Effect.cachedWithTTL(look, resolution)
})
