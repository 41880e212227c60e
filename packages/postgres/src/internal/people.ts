/**
 * Locks between erasures and what adds records about a person. Every user with a grant, a registration or an
 * application has a row in `people`: a first grant, a new registration, a save of an application and an erasure lock it, so
 * that they wait for each other.
 */
import type { Statement } from "../Database.ts"

/** Locks the rows of these users, if they are not erased. `users` is a query of `user_id`. Returns their identifiers. */
export const holdPeople = (p: string, users: string): string => `
  INSERT INTO ${p}people AS p (user_id) ${users}
  ON CONFLICT (user_id) DO UPDATE SET erased_at = NULL WHERE p.erased_at IS NULL RETURNING user_id`

/** Shared by statements that copy an event from one delivery to another one. An erasure has it alone. */
const copies = (p: string): string => `hashtextextended('${p}copies', 0)`

/** Waits for erasures in progress. Later ones wait for the transaction. */
export const holdCopies = (p: string): Statement => ({
  name: `${p}copies_hold`,
  text: `SELECT pg_advisory_xact_lock_shared(${copies(p)})::text`
})

/** Waits for copies in progress. Later ones wait for the transaction. */
export const excludeCopies = (p: string): Statement => ({
  name: `${p}copies_exclude`,
  text: `SELECT pg_advisory_xact_lock(${copies(p)})::text`
})
