/** Subscriptions in rows: their signing secrets are sealed for the application. */
import { StoreError } from "@startlist/core/Store"
import { type SigningSecret, Subscription, SubscriptionId } from "@startlist/core/Subscription"
import * as Effect from "effect/Effect"
import type { Seal } from "../Seal.ts"
import { type Int8, millisOrNull, toApplicationId, toInstant, toInstantOption } from "./rows.ts"

export interface SubscriptionRow {
  readonly subscription_id: Int8
  readonly subscription_version: number
  readonly application_id: Int8
  readonly callback_url: string
  readonly signing_secrets: ReadonlyArray<readonly [sealed: string, expiresAt: number | null]>
  readonly created_at: Int8
  readonly updated_at: Int8
}

/** The columns of a `SubscriptionRow`, from a table called `s`. */
export const subscriptionColumns = `s.id AS subscription_id, s.version AS subscription_version, s.application_id,
  s.callback_url, s.signing_secrets, s.created_at, s.updated_at`

const ownerOf = (applicationId: number | Int8): string => `application:${applicationId}`

export const toSubscriptionId = (id: Int8): SubscriptionId =>
  SubscriptionId.make(Number(id), { disableValidation: true })

export const sealedOf = (
  seal: Seal.Service,
  applicationId: number,
  secrets: ReadonlyArray<SigningSecret>
): string =>
  JSON.stringify(
    secrets.map(({ expiresAt, value }) => [seal.seal(ownerOf(applicationId), value), millisOrNull(expiresAt)])
  )

export const toSubscription = (seal: Seal.Service) => (row: SubscriptionRow): Effect.Effect<Subscription, StoreError> =>
  Effect.forEach(row.signing_secrets, ([sealed, expiresAt]) =>
    Effect.map(
      seal.open(ownerOf(row.application_id), sealed),
      (value) => ({ value, expiresAt: toInstantOption(expiresAt) })
    )).pipe(
      Effect.mapBoth({
        onFailure: (cause) => new StoreError({ cause }),
        onSuccess: (signingSecrets) => ({
          id: toSubscriptionId(row.subscription_id),
          version: row.subscription_version,
          applicationId: toApplicationId(row.application_id),
          callbackUrl: row.callback_url,
          signingSecrets,
          createdAt: toInstant(row.created_at),
          updatedAt: toInstant(row.updated_at)
        })
      })
    )
