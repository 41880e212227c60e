/**
 * Signing secrets after a change or a loss of the master key: sealing again what a retired key has sealed, finding what no
 * key opens, and replacing it.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ApplicationId, ApplicationStore, type SigningSecrets } from "@startlist/core/Application"
import { first } from "@startlist/core/ApplicationSecret"
import { Secrets } from "@startlist/core/Secrets"
import { StoreError, untilSaved } from "@startlist/core/Store"
import { SubscriptionStore } from "@startlist/core/Subscription"
import { Database } from "./Database.ts"
import { type Int8, signingColumns, type SigningRow, toApplicationId, toSigning } from "./internal/rows.ts"
import { CannotOpen, Seal } from "./Seal.ts"

/** Applications by result. */
export interface Resealed {
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
const resealOne = (id: ApplicationId) =>
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
export const reseal: Effect.Effect<Resealed, StoreError, ApplicationStore | Database | Seal> = Effect.gen(function*() {
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
      const done = yield* resealOne(id).pipe(
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

/** The result of `look`. */
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

/**
 * For a lost master key: no key opens the signing secrets of these applications, so they get no events until the secrets
 * are replaced. Gives each a new secret, and ends its subscription as its owner would. Pending deliveries are cancelled,
 * since no receiver has the new secret yet.
 */
export const replace = (
  applications: ReadonlyArray<ApplicationId>
): Effect.Effect<void, StoreError, ApplicationStore | Secrets | SubscriptionStore> =>
  Effect.gen(function*() {
    const store = yield* ApplicationStore
    const secrets = yield* Secrets
    const subscriptions = yield* SubscriptionStore
    const replaceSecrets = (present: SigningSecrets) =>
      Effect.flatMap(secrets.makeSigning, (value) =>
        store.saveSigningSecrets({
          ...present,
          version: present.version + 1,
          secrets: [{ ...first, value }]
        }))
    for (const application of applications) {
      const found = yield* subscriptions.findByApplication(application)
      if (Option.isSome(found)) yield* subscriptions.remove(found.value.id, yield* DateTime.now)
      yield* untilSaved(Effect.flatMap(
        store.findSigningSecrets(application),
        Option.match({ onNone: () => Effect.void, onSome: replaceSecrets })
      ))
    }
  })
