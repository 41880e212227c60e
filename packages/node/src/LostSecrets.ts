/**
 * The way out when a master key is lost. Without it the signing secrets that it sealed cannot be read, so their owners
 * can neither be sent events nor rotate or delete anything: only the operator can end such a subscription.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type { ApplicationId } from "@startlist/core/Application"
import type { StoreError } from "@startlist/core/Store"
import { SubscriptionId, SubscriptionStore } from "@startlist/core/Subscription"
import { Database } from "@startlist/postgres/Database"

/** Ends the subscriptions of these applications as their owners would: what was pending is cancelled. */
export const endSubscriptions = (
  applications: ReadonlyArray<ApplicationId>
): Effect.Effect<void, StoreError, Database | SubscriptionStore> =>
  Effect.gen(function*() {
    const { prefix: p, query } = yield* Database
    const subscriptions = yield* SubscriptionStore
    const find = {
      name: `${p}lost_secrets_find`,
      text: `SELECT id FROM ${p}subscriptions WHERE application_id = $1::bigint`
    }
    for (const application of applications) {
      const [row] = yield* query<{ readonly id: string }>(find, [application])
      if (row !== undefined) yield* subscriptions.remove(SubscriptionId.make(Number(row.id)), yield* DateTime.now)
    }
  })
