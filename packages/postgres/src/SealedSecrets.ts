/** Signing secrets that no master key opens: finding them, and replacing them. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as DateTime from "effect/DateTime"
import { ApplicationId, ApplicationStore, type SigningSecrets } from "@startlist/core/Application"
import { type StoreError, untilSaved } from "@startlist/core/Store"
import { Database } from "./Database.ts"
import { first } from "@startlist/core/ApplicationSecret"
import { Secrets } from "@startlist/core/Secrets"
import { SubscriptionStore } from "@startlist/core/Subscription"

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
