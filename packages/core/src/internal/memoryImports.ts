/** Imported records in memory. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type ApplicationId, ApplicationNotFound } from "../Application.ts"
import { first } from "../ApplicationSecret.ts"
import type { Change } from "../Grant.ts"
import type { ImportStore } from "../ImportStore.ts"
import { Conflict } from "../Store.ts"
import { AlreadySubscribed, type Subscription } from "../Subscription.ts"
import { UserErased } from "../User.ts"
import { compareAndSet, saving, type State } from "./memoryState.ts"

/** `save` saves a grant in one step, and returns whether it was the next version. */
export const makeImportStore = (state: State, save: (change: Change) => boolean): ImportStore.Service => {
  const {
    applications,
    erased,
    importedSubscriptions,
    importedTokens,
    lastIds,
    registrations,
    signingSecrets,
    subscriptions
  } = state
  /** Lets new identifiers continue after this one. */
  const passed = (kind: "application" | "registration" | "subscription", id: number) => {
    lastIds[kind] = Math.max(lastIds[kind], id)
  }
  const isSubscribed = (id: ApplicationId) =>
    [...subscriptions.values()].some((one: Subscription) => one.applicationId === id)
  return {
    insertApplication: (application, value) =>
      Effect.suspend((): ReturnType<ImportStore.Service["insertApplication"]> => {
        const { id, ownerId } = application
        if (erased.has(ownerId)) return new UserErased({ userId: ownerId })
        if (applications.has(id)) return Effect.succeed(false)
        applications.set(id, application)
        signingSecrets.set(id, { applicationId: id, version: 1, secrets: [{ ...first, value }] })
        passed("application", id)
        return Effect.succeed(true)
      }),
    // One step: an erasure between grant and tokens would leave the tokens.
    saveGrant: (change, tokens) =>
      saving(() => {
        if (!save(change)) return false
        for (const token of tokens) {
          if (!importedTokens.has(token.hash)) importedTokens.set(token.hash, token)
        }
        return true
      }),
    insertSubscription: (subscription, signing) =>
      Effect.suspend((): ReturnType<ImportStore.Service["insertSubscription"]> => {
        const { applicationId, id } = subscription
        if (importedSubscriptions.has(id) || subscriptions.has(id)) return Effect.succeed(false)
        if ((applications.get(applicationId)?.state ?? "ended") === "ended") {
          return new ApplicationNotFound({ applicationId })
        }
        if (isSubscribed(applicationId)) return new AlreadySubscribed()
        if (Option.isSome(signing) && !compareAndSet(signingSecrets, applicationId, signing.value)) {
          return new Conflict()
        }
        subscriptions.set(id, subscription)
        importedSubscriptions.add(id)
        passed("subscription", id)
        return Effect.succeed(true)
      }),
    insertRegistration: (registration) =>
      Effect.suspend((): ReturnType<ImportStore.Service["insertRegistration"]> => {
        if (erased.has(registration.parties.athleteId)) return new Conflict()
        if (registrations.has(registration.id)) return Effect.succeed(false)
        registrations.set(registration.id, registration)
        passed("registration", registration.id)
        return Effect.succeed(true)
      }),
    findToken: (hash) => Effect.sync(() => Option.fromNullable(importedTokens.get(hash))),
    hasTokens: () => Effect.sync(() => importedTokens.size > 0),
    purgeTokens: (now, limit) =>
      Effect.sync(() => {
        const over = [...importedTokens.values()].filter(({ expiresAt }) => expiresAt.epochMillis <= now.epochMillis)
        const removed = over.slice(0, limit)
        for (const { hash } of removed) importedTokens.delete(hash)
        return removed.length
      })
  }
}
