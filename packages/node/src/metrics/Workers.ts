/** Gauge of the workers of a Citus cluster. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Citus from "@startlist/postgres/Citus"
import { Database } from "@startlist/postgres/Database"
import { shared } from "../internal/shared.ts"
import * as Series from "./Series.ts"

const workerUp = Series.make(
  Metric.gauge(`${Series.prefix}citus_worker_up`, {
    description: "1 if the coordinator reached this worker at the last check, otherwise 0"
  }),
  "worker"
)

/** Minimum interval between checks, for any number of callers. */
const resolution = Duration.seconds(1)

/** Maximum waiting time of a caller. A check of a worker takes at most two seconds. */
const patience = Duration.seconds(3)

/** Updates the gauge, if the tables are divided. Never fails: without the coordinator, the previous values stay. */
export const make: Effect.Effect<Effect.Effect<void>, never, Database | SqlClient> = Effect.gen(function*() {
  const { isDivided } = yield* Database
  if (!isDivided) return Effect.void
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
  return Effect.asVoid(Effect.timeoutOption(yield* shared(Effect.provide(look, services), resolution), patience))
})
