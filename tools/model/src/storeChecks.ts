/** Checks every operation of the stores for laws that no observation shows. */
import type { Claimed } from "@startlist/core/DeliveryQueue"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { Around } from "@startlist/testing/Faults"
import { leaksSecret } from "@startlist/testing/internal/expecting"
import type { ProgramFixture } from "./programFixture.ts"

const isClaims = (value: unknown): value is ReadonlyArray<Claimed> =>
  Array.isArray(value) && value.every((one) => Predicate.hasProperty(one, "subscription"))

/** Records removals of subscriptions. Checks later claims (law 8) and secrets in clear (law 10). */
export const storeChecks = (fixture: ProgramFixture): Around => (operation, effect, input) => {
  if (leaksSecret(operation, input)) {
    fixture.violations.push(`law 10: ${operation} was given a secret in clear`)
  }
  if (operation === "SubscriptionStore.remove") {
    const [id] = input
    return Effect.tap(effect, () =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (typeof id === "number" && !fixture.removed.has(id)) fixture.removed.set(id, now)
      }))
  }
  if (operation === "DeliveryQueue.claim") {
    return Effect.suspend(() => {
      const removed = new Set(fixture.removed.keys())
      return Effect.tap(effect, (claims) =>
        Effect.sync(() => {
          const late = isClaims(claims) && claims.find(({ subscription }) => removed.has(subscription.id))
          if (late) {
            fixture.violations.push(
              `law 8: delivery ${late.delivery.id} was claimed after its subscription was removed`
            )
          }
        }))
    })
  }
  return effect
}
