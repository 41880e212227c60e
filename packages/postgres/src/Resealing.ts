/** The second half of a change of the master key: seals secrets of retired keys again with the present one. */
import * as Effect from "effect/Effect"
import { type ApplicationId, ApplicationStore } from "@startlist/core/Application"
import { StoreError } from "@startlist/core/Store"
import { Database } from "./Database.ts"
import { type Int8, signingColumns, type SigningRow, toApplicationId, toSigning } from "./internal/rows.ts"
import { CannotOpen, Seal } from "./Seal.ts"

/** Applications by result. */
export interface Result {
  /** Applications whose signing secrets are now sealed with the present key and were not before. */
  readonly resealed: number
  /** Applications with a signing secret that no key opens, and that is not changed. */
  readonly unreadable: ReadonlyArray<ApplicationId>
}

/** Number of rows that one statement reads. */
const batch = 500

/**
 * Returns whether there was something to do. Reads again after a concurrent change, which may have sealed the secrets.
 * Decodes the row itself, because the store omits secrets that no key opens, and saving would remove them.
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
  }).pipe(Effect.retry({ while: ({ _tag }) => _tag === "@startlist/core/Conflict", times: 20 }))

/** A row whose secret cannot be opened does not block the others. */
const orUnreadable = (error: { readonly _tag: string; readonly cause?: unknown }): boolean =>
  error._tag === "@startlist/core/StoreError" && error.cause instanceof CannotOpen

/**
 * Seals all secrets of other keys again with the present key. Nodes with the present key may run at the same time, and
 * it can be repeated. Fails with `StoreError` if the database is unavailable.
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
        Effect.catchTag("@startlist/core/Conflict", (cause) => new StoreError({ cause })),
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
