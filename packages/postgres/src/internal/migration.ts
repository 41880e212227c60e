/** Migrations, as their authors write them. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type * as Effect from "effect/Effect"

/** One migration. */
export interface Migration {
  readonly run: Effect.Effect<void, SqlError, SqlClient.SqlClient>
  /**
   * The table of earlier migrations whose definition it changes. It is locked first. A migration that locks another
   * table fails: use one migration per table.
   */
  readonly changes?: string
  /**
   * The migration takes longer than requests can wait. It runs outside of a transaction, locks nothing that requests
   * need, and is repeatable after any interruption: an index by `index`, or changes of rows in batches.
   */
  readonly slow?: boolean
  /** Older programs do not support the result: they do not start, and are no longer ready. Default: false. */
  readonly breaking?: boolean
}
