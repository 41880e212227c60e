/** Subscriptions in rows. */
import { unsafeBrand } from "@startlist/core/Store"
import { type Subscription, SubscriptionId } from "@startlist/core/Subscription"
import { type Int8, toApplicationId, toInstant } from "./rows.ts"

export interface SubscriptionRow {
  readonly subscription_id: Int8
  readonly subscription_version: number
  readonly application_id: Int8
  readonly callback_url: string
  readonly created_at: Int8
  readonly updated_at: Int8
  readonly paused: boolean
  readonly paused_by_operator: boolean
}

/** The columns of a `SubscriptionRow`, from a table called `s`. */
export const subscriptionColumns = `s.id AS subscription_id, s.version AS subscription_version, s.application_id,
  s.callback_url, s.created_at, s.updated_at, s.paused, s.paused_by_operator`

export const toSubscriptionId = (id: Int8): SubscriptionId => unsafeBrand(SubscriptionId, Number(id))

export const toSubscription = (row: SubscriptionRow): Subscription => ({
  id: toSubscriptionId(row.subscription_id),
  version: row.subscription_version,
  applicationId: toApplicationId(row.application_id),
  callbackUrl: row.callback_url,
  paused: row.paused,
  pausedByOperator: row.paused_by_operator,
  createdAt: toInstant(row.created_at),
  updatedAt: toInstant(row.updated_at)
})
