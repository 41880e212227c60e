/**
 * The way out when a master key is lost. Without it the signing secrets that it sealed cannot be read, and no events are
 * delivered to these subscriptions until their owners replace the secret. The operator can end them all.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ApplicationId } from "@startlist/core/Application"
import type { StoreError } from "@startlist/core/Store"
import { SubscriptionStore } from "@startlist/core/Subscription"

/** Ends the subscriptions of these applications as their owners would: what was pending is cancelled. */
export const endSubscriptions = (
  applications: ReadonlyArray<ApplicationId>
): Effect.Effect<void, StoreError, SubscriptionStore> =>
  Effect.gen(function*() {
    const subscriptions = yield* SubscriptionStore
    for (const application of applications) {
      const found = yield* subscriptions.findByApplication(application)
      if (Option.isSome(found)) yield* subscriptions.remove(found.value.id, yield* DateTime.now)
    }
  })
