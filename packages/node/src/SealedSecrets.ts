/** Whether the master keys open the stored signing secrets. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ApplicationId, ApplicationStore } from "@startlist/core/Application"
import type { StoreError } from "@startlist/core/Store"
import { Database } from "@startlist/postgres/Database"

export interface Sample {
  readonly total: number
  /** Applications with a signing secret that no key opens. */
  readonly closed: ReadonlyArray<ApplicationId>
}

/** Checks the newest applications, at most `sample` of them. */
export const look = Effect.fnUntraced(function*(
  sample: number
): Effect.fn.Return<Sample, StoreError, ApplicationStore | Database> {
  const { prefix: p, query } = yield* Database
  const applications = yield* ApplicationStore
  const rows = yield* query<{ readonly id: string; readonly secrets: number }>(
    {
      name: `${p}sealed_secrets`,
      text:
        `SELECT id, jsonb_array_length(signing_secrets::jsonb) AS secrets FROM ${p}applications ORDER BY id DESC LIMIT $1::integer`
    },
    [sample]
  )
  const closed = yield* Effect.filter(
    rows.map(({ id, secrets }) => ({ id: ApplicationId.make(Number(id)), secrets })),
    ({ id, secrets }) =>
      Effect.map(
        applications.findSigningSecrets(id),
        // The store omits secrets that no key opens.
        Option.exists((found) => found.secrets.length < secrets)
      ),
    { concurrency: 10 }
  )
  return { total: rows.length, closed: closed.map(({ id }) => id) }
})
