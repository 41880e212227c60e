/** Subscriptions in rows: their signing secrets are sealed for the application. */
import { StoreError, trusted } from "@startlist/core/Store"
import { type SigningSecret, type Subscription, SubscriptionId } from "@startlist/core/Subscription"
import * as Arr from "effect/Array"
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

export const toSubscriptionId = (id: Int8): SubscriptionId => trusted(SubscriptionId, Number(id))

export const sealedOf = (
  seal: Seal.Service,
  applicationId: number,
  secrets: ReadonlyArray<SigningSecret>
): string =>
  JSON.stringify(
    secrets.map(({ expiresAt, value }) => [seal.seal(ownerOf(applicationId), value), millisOrNull(expiresAt)])
  )

/** Opens the signing secrets of a row, each or why not. */
const opened = (seal: Seal.Service, { application_id, signing_secrets }: SubscriptionRow) =>
  signing_secrets.map(([sealed, expiresAt]) =>
    Either.map(
      seal.open(ownerOf(application_id), sealed),
      (value): SigningSecret => ({ value, expiresAt: toInstantOption(expiresAt) })
    )
  )

const withSecrets = (row: SubscriptionRow, signingSecrets: ReadonlyArray<SigningSecret>): Subscription => ({
  id: toSubscriptionId(row.subscription_id),
  version: row.subscription_version,
  applicationId: toApplicationId(row.application_id),
  callbackUrl: row.callback_url,
  signingSecrets,
  createdAt: toInstant(row.created_at),
  updatedAt: toInstant(row.updated_at)
})

/** Returns the subscription without the secrets that no key opens: it can be shown, deleted and given a new secret. */
export const toSubscription = (seal: Seal.Service) => (row: SubscriptionRow): Subscription =>
  withSecrets(row, Arr.getRights(opened(seal, row)))

/**
 * Returns the subscription only if every secret opens: events must not go out with fewer signatures. Not an effect but
 * its result, because a claim decodes a subscription for every delivery or two.
 */
export const toSigning = (seal: Seal.Service) => (row: SubscriptionRow): Either.Either<Subscription, StoreError> =>
  Either.mapBoth(Either.all(opened(seal, row)), {
    onLeft: (cause) => new StoreError({ cause }),
    onRight: (secrets) => withSecrets(row, secrets)
  })
