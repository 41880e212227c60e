/** The second half of a change of the master key: what the retired keys sealed is sealed with the present one. */
import { type ApplicationId, ApplicationStore } from "@startlist/core/Application"
import { StoreError } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import { Database } from "./Database.ts"
import { type Int8, toApplicationId } from "./internal/rows.ts"
import { signingColumns, type SigningRow, toSigning } from "./internal/signingRows.ts"
import { CannotOpen, Seal } from "./Seal.ts"

/** Numbers of secrets, by what was done with them. */
export interface Result {
  /** Applications whose signing secrets are now sealed with the present key and were not before. */
  readonly resealed: number
  /** Applications that have a signing secret that no given key opens. It stays as it is. */
  readonly unreadable: ReadonlyArray<ApplicationId>
}

/** Number of rows that one statement reads. */
const batch = 500

/**
 * Whether there was something to do. A change that comes in between is read again: it may have sealed by itself. The row
 * is decoded here, because the store leaves out the secrets that no key opens, and saving would remove them.
 */
const reseal = (id: ApplicationId) =>
  Effect.gen(function*() {
    const { prefix: p, query } = yield* Database
    const applications = yield* ApplicationStore
    const find = {
      name: `${p}resealing_find`,
      text: `SELECT ${signingColumns} FROM ${p}applications a WHERE a.id = $1::bigint`
    }
    const [row] = yield* query<SigningRow>(find, [id])
    if (row === undefined) return false
    const secrets = yield* toSigning(yield* Seal)(row)
    yield* applications.saveSigningSecrets({ applicationId: id, version: row.signing_version + 1, secrets })
    return true
  }).pipe(Effect.retry({ while: ({ _tag }) => _tag === "Conflict", times: 20 }))

/** A row whose secret cannot be opened holds nobody else up. */
const orUnreadable = (error: { readonly _tag: string; readonly cause?: unknown }): boolean =>
  error._tag === "StoreError" && error.cause instanceof CannotOpen

/**
 * Seals everything again that was not sealed with the present key. Nodes that know the present key may run at the same time,
 * and it can be repeated. Fails with `StoreError` if the database is unavailable.
 */
export const run: Effect.Effect<Result, StoreError, ApplicationStore | Database | Seal> = Effect.gen(function*() {
  const { prefix: p, query } = yield* Database
  const seal = yield* Seal
  const next = {
    name: `${p}resealing_next`,
    text: `SELECT ${signingColumns} FROM ${p}applications a WHERE a.id > $1::bigint ORDER BY a.id LIMIT $2::integer`
  }
  let after: Int8 = "0"
  let resealed = 0
  const unreadable: Array<ApplicationId> = []
  while (true) {
    const rows: ReadonlyArray<SigningRow> = yield* query<SigningRow>(next, [after, batch])
    const last = rows.at(-1)
    if (last === undefined) return { resealed, unreadable }
    after = last.application_id
    for (const row of rows) {
      if (row.signing_secrets.every(([sealed]) => seal.isPresent(sealed))) continue
      const id = toApplicationId(row.application_id)
      const done = yield* reseal(id).pipe(
        Effect.catchTag("Conflict", (cause) => new StoreError({ cause })),
        Effect.catchIf(orUnreadable, () =>
          Effect.sync(() => {
            unreadable.push(id)
            return false
          }))
      )
      if (done) resealed++
    }
  }
})
