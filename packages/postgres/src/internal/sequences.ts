/** Sequences of identifiers, which continue after imported ones. */
import * as Effect from "effect/Effect"
import type { StoreError } from "@startlist/core/Store"
import type { Database } from "../Database.ts"

/** Tables whose identifiers an import can give. */
export type Numbered = "applications" | "registrations" | "subscriptions" | "users"

/**
 * Lets new identifiers of a table continue after this one. Call it in the transaction that inserts the row: one import at a
 * time, so that none puts a sequence back.
 */
export const pass = (
  { prefix: p, query }: Database.Service,
  table: Numbered,
  id: number
): Effect.Effect<void, StoreError> => {
  const sequence = `${p}${table}_id_seq`
  const lock = {
    name: `${p}import_lock`,
    text: `SELECT pg_advisory_xact_lock(hashtextextended('${p}imports', 0))::text`
  }
  const advance = {
    name: `${p}import_advance_${table}`,
    text: `SELECT setval('${sequence}', $1::bigint) FROM ${sequence} WHERE last_value < $1::bigint OR NOT is_called`
  }
  return Effect.asVoid(Effect.zipRight(query(lock, []), query(advance, [id])))
}
