/**
 * For a lost master key: the signing secrets that it sealed cannot be read, so these applications get no events until
 * their owners replace the secret. The operator can replace all of them.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type ApplicationId, ApplicationStore, type SigningSecrets } from "@startlist/core/Application"
import { first } from "@startlist/core/ApplicationSecret"
import { Secrets } from "@startlist/core/Secrets"
import { type StoreError, untilSaved } from "@startlist/core/Store"
import { SubscriptionStore } from "@startlist/core/Subscription"

/**
 * Gives these applications a new signing secret, and ends their subscriptions as their owners would. Pending deliveries
 * are cancelled, since no receiver has the new secret yet.
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
