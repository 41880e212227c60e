/** Subscriptions in rows: their signing secrets are sealed for the application. */
import { StoreError } from "@startlist/core/Store"
import { type SigningSecret, type Subscription, SubscriptionId } from "@startlist/core/Subscription"
import * as Either from "effect/Either"
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

const ownerOf = (applicationId: Int8): string => `application:${applicationId}`

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

/** Not an effect but its result: a claim decodes a subscription for every delivery or two. */
export const toSubscription =
  (seal: Seal.Service) => (row: SubscriptionRow): Either.Either<Subscription, StoreError> => {
    const signingSecrets: Array<SigningSecret> = []
    for (const [sealed, expiresAt] of row.signing_secrets) {
      const value = seal.open(ownerOf(row.application_id), sealed)
      if (Either.isLeft(value)) return Either.left(new StoreError({ cause: value.left }))
      signingSecrets.push({ value: value.right, expiresAt: toInstantOption(expiresAt) })
    }
    return Either.right({
      id: toSubscriptionId(row.subscription_id),
      version: row.subscription_version,
      applicationId: toApplicationId(row.application_id),
      callbackUrl: row.callback_url,
      signingSecrets,
      createdAt: toInstant(row.created_at),
      updatedAt: toInstant(row.updated_at)
    })
  }
