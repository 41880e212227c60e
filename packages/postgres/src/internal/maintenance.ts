/** The work of a PostgreSQL server's background processes, which the embedded database does not have. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

/** Bytes of write-ahead log between checkpoints: the maximum that a start after a crash replays, approximately. */
const checkpointBytes = 32 * 1024 * 1024

const every = (interval: Duration.DurationInput) => Effect.repeat(Schedule.spaced(interval))

/** Checkpoints as the write-ahead log grows, and vacuums once an hour. Never ends. */
export const maintain = (sql: SqlClient.SqlClient): Effect.Effect<void> => {
  let position: string | undefined
  const checkpoint = Effect.gen(function*() {
    const [row] = yield* sql<{ readonly present: string; readonly grown: string | null }>`
      SELECT pg_current_wal_lsn()::text AS present, pg_wal_lsn_diff(pg_current_wal_lsn(), ${
      position ?? null
    }::pg_lsn) AS grown`
    position ??= row?.present
    if (row === undefined || Number(row.grown) < checkpointBytes) return
    yield* sql`CHECKPOINT`
    position = row.present
  })
  return Effect.all([
    Effect.delay(Effect.ignoreLogged(checkpoint), "10 seconds").pipe(every(0)),
    Effect.delay(Effect.ignoreLogged(sql`VACUUM (ANALYZE)`), "1 hour").pipe(every(0))
  ], { concurrency: "unbounded", discard: true })
}
