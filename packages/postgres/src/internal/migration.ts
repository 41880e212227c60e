/** A step of a migration, as its author writes it. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type * as Effect from "effect/Effect"

/** One step. */
export interface Migration {
  readonly run: Effect.Effect<void, SqlError, SqlClient.SqlClient>
  /**
   * The one table of earlier steps that it changes, other than by writing rows. It is locked first. A step that locks
   * another one fails, so that its author finds out: what concerns two tables is two steps.
   */
  readonly changes?: string
  /**
   * The step takes longer than requests can wait. It runs outside of a transaction, locks nothing that requests need, and
   * can be repeated wherever it ended: an index by `index`, or rows that are filled in batch by batch.
   */
  readonly slow?: boolean
  /** Programs that do not know the step cannot work with its result: they neither start nor stay ready. Default no. */
  readonly breaking?: boolean
}
