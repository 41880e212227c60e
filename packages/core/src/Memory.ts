/**
 * All stores in memory, for tests and small programs: the reference for other stores. Every method is one synchronous
 * step over plain maps, so it is atomic. `save` compares versions like a database.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Application, ApplicationId, ApplicationNotFound, ApplicationStore } from "./Application.ts"
import { first } from "./ApplicationSecret.ts"
import { DeliveryStore } from "./Delivery.ts"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { type Change, GrantStore } from "./Grant.ts"
import { ImportStore } from "./ImportStore.ts"
import { cancel, type Enqueue, makeDeliveries } from "./internal/memoryDeliveries.ts"
import { compareAndSet, isActive, makeState, saving, type State, wake } from "./internal/memoryState.ts"
import { PersonStore } from "./PersonalData.ts"
import { emptyUpdates, RegistrationId, RegistrationStore } from "./Registration.ts"
import { Conflict } from "./Store.ts"
import type { Stores } from "./Services.ts"
import { AlreadySubscribed, type Subscription, SubscriptionId, SubscriptionStore } from "./Subscription.ts"
import { UserErased, type UserId } from "./User.ts"

/** By identifier: an import may insert a smaller one later. */
const byNewestId = <A extends { readonly id: number }>(records: ReadonlyMap<A["id"], A>): ReadonlyArray<A> =>
  [...records.values()].sort((a, b) => b.id - a.id)

const makeApplicationStore = (
  { applications, erased, firstSecrets, hints, lastIds, signingSecrets }: State
): ApplicationStore.Service => ({
  find: (id) => Effect.sync(() => Option.fromNullable(applications.get(id))),
  list: ({ after, limit, owner }) =>
    Effect.sync(() =>
      byNewestId(applications)
        .filter(({ state }) => state !== "ended")
        .filter((application) => Option.isNone(owner) || application.ownerId === owner.value)
        .filter((application) => Option.isNone(after) || application.id < after.value)
        .slice(0, limit)
    ),
  insert: (application, value) =>
    Effect.suspend((): ReturnType<ApplicationStore.Service["insert"]> => {
      if (erased.has(application.ownerId)) return new UserErased({ userId: application.ownerId })
      const [secret] = application.secrets
      if (secret !== undefined && firstSecrets.has(secret.hash)) return Effect.fail(new Conflict())
      if (secret !== undefined) firstSecrets.add(secret.hash)
      const id = ApplicationId.make(++lastIds.application)
      const inserted: Application = { ...application, id, version: 1, state: "active", epoch: 0 }
      applications.set(id, inserted)
      signingSecrets.set(id, { applicationId: id, version: 1, secrets: [{ ...first, value }] })
      return Effect.succeed(inserted)
    }),
  save: (next) =>
    saving(() => {
      if (!applications.has(next.id) || (next.state !== "ended" && erased.has(next.ownerId))) return false
      return compareAndSet(applications, next.id, next) && wake(hints)
    }),
  findSigningSecrets: (id) => Effect.sync(() => Option.fromNullable(signingSecrets.get(id))),
  saveSigningSecrets: (next) =>
    saving(() => signingSecrets.has(next.applicationId) && compareAndSet(signingSecrets, next.applicationId, next))
})

const subscriptionOf = ({ subscriptions }: State, id: ApplicationId): Subscription | undefined =>
  [...subscriptions.values()].find(({ applicationId }) => applicationId === id)

const makeSubscriptionStore = (state: State): SubscriptionStore.Service => {
  const { applications, lastIds, subscriptions } = state
  return {
    findByApplication: (id) => Effect.sync(() => Option.fromNullable(subscriptionOf(state, id))),
    list: ({ after, limit }) =>
      Effect.sync(() =>
        byNewestId(subscriptions).filter(({ id }) => Option.isNone(after) || id < after.value).slice(0, limit)
      ),
    insert: (subscription) =>
      Effect.suspend((): ReturnType<SubscriptionStore.Service["insert"]> => {
        const { applicationId } = subscription
        if (applications.get(applicationId)?.state === "ended") return new ApplicationNotFound({ applicationId })
        if (subscriptionOf(state, applicationId) !== undefined) return new AlreadySubscribed()
        const id = SubscriptionId.make(++lastIds.subscription)
        const inserted = { ...subscription, id, version: 1, paused: false, pausedByOperator: false }
        subscriptions.set(id, inserted)
        return Effect.succeed(inserted)
      }),
    save: (next) =>
      saving(() => subscriptions.has(next.id) && compareAndSet(subscriptions, next.id, next) && wake(state.hints)),
    remove: (id, now) =>
      Effect.sync(() => {
        for (const queued of state.pending.values()) {
          if (queued.delivery.subscriptionId === id) cancel(state, queued, now)
        }
        return subscriptions.delete(id)
      })
  }
}

/** Saves a grant and queues its events, in one step. Returns whether it was the next version. */
const makeSaveGrant = ({ erased, grants }: State, enqueue: Enqueue) => ({ grant, outgoing }: Change): boolean => {
  const ofApplication = grants.get(grant.applicationId) ?? new Map()
  if (grant.version === 1 && erased.has(grant.userId)) return false
  if (!compareAndSet(ofApplication, grant.userId, grant)) return false
  grants.set(grant.applicationId, ofApplication)
  enqueue(outgoing)
  return true
}

const makeGrantStore = (state: State, save: (change: Change) => boolean): GrantStore.Service => {
  const { applications, grants } = state
  return {
    find: (applicationId, userId) =>
      Effect.sync(() => {
        const grant = grants.get(applicationId)?.get(userId)
        const application = applications.get(applicationId)
        return grant === undefined || application === undefined ? Option.none() : Option.some({ grant, application })
      }),
    listByUser: (userId) =>
      Effect.sync(() =>
        [...grants.values()]
          .flatMap((ofApplication) => ofApplication.get(userId) ?? [])
          .filter((grant) => isActive(state, grant))
          .sort((a, b) => a.grantedAt.epochMillis - b.grantedAt.epochMillis || a.applicationId - b.applicationId)
      ),
    listByApplication: (applicationId, limit) =>
      Effect.sync(() =>
        [...grants.get(applicationId)?.values() ?? []].filter((grant) => isActive(state, grant)).slice(0, limit)
      ),
    save: (change) => saving(() => save(change))
  }
}

const makeRegistrationStore = (
  { erased, lastIds, registrations }: State,
  enqueue: Enqueue
): RegistrationStore.Service => ({
  find: (id) => Effect.sync(() => Option.fromNullable(registrations.get(id))),
  insert: (registration) =>
    Effect.suspend(() => {
      if (erased.has(registration.parties.athleteId)) return new Conflict()
      const id = RegistrationId.make(++lastIds.registration)
      const inserted = { ...registration, id, version: 1 }
      registrations.set(id, inserted)
      return Effect.succeed(inserted)
    }),
  save: (next, outgoing) =>
    saving(() => {
      if (!registrations.has(next.id) || !compareAndSet(registrations, next.id, next)) return false
      enqueue(outgoing)
      return true
    })
})

const makePersonStore = (state: State, enqueue: Enqueue): PersonStore.Service => {
  const { applications, deliveries, erased, grants, importedTokens, registrations } = state
  const registrationsOf = (id: UserId) =>
    byNewestId(registrations).filter(({ parties }) => parties.athleteId === id).reverse()
  return {
    isErased: (id) => Effect.sync(() => erased.has(id)),
    registrations: (id) => Effect.sync(() => registrationsOf(id)),
    erase: ({ at, registrationIds, revocations, userId }) =>
      saving(() => {
        const active = [...grants.values()].flatMap((all) => all.get(userId) ?? []).filter((one) =>
          isActive(state, one)
        )
        const isNext = (one: typeof active[number]) =>
          revocations.some(({ grant }) =>
            grant.applicationId === one.applicationId && grant.version === one.version + 1
          )
        if (active.length !== revocations.length || !active.every(isNext)) return false
        if ([...applications.values()].some((one) => one.ownerId === userId && one.state !== "ended")) return false
        for (const all of grants.values()) all.delete(userId)
        for (const [hash, token] of importedTokens) if (token.userId === userId) importedTokens.delete(hash)
        for (const { outgoing } of revocations) enqueue(outgoing)
        erased.add(userId)
        const cleared = new Set<number>(registrationIds)
        for (const one of registrationsOf(userId)) {
          registrations.set(one.id, { ...one, version: one.version + 1, updates: emptyUpdates })
          cleared.add(one.id)
        }
        for (const queued of deliveries.values()) {
          const { delivery } = queued
          if (delivery.event.objectType !== "registration" || !cleared.has(delivery.event.objectId)) continue
          queued.delivery = { ...delivery, event: { ...delivery.event, updates: emptyUpdates }, attempts: [] }
          if (delivery.state === "pending") cancel(state, queued, at)
        }
        return true
      })
  }
}

/** The store of imports. `save` saves a grant in one step, and returns whether it was the next version. */
const makeImportStore = (state: State, save: (change: Change) => boolean): ImportStore.Service => {
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
        if (subscriptionOf(state, applicationId) !== undefined) return new AlreadySubscribed()
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

/** All stores over one new state, which ends with the layer. */
export const layer: Layer.Layer<Stores | ImportStore> = Layer.syncContext(() => {
  const state = makeState()
  const { enqueue, queue, store } = makeDeliveries(state)
  const saveGrant = makeSaveGrant(state, enqueue)
  return Context.make(ApplicationStore, makeApplicationStore(state)).pipe(
    Context.add(GrantStore, makeGrantStore(state, saveGrant)),
    Context.add(ImportStore, makeImportStore(state, saveGrant)),
    Context.add(SubscriptionStore, makeSubscriptionStore(state)),
    Context.add(RegistrationStore, makeRegistrationStore(state, enqueue)),
    Context.add(PersonStore, makePersonStore(state, enqueue)),
    Context.add(DeliveryQueue, queue),
    Context.add(DeliveryStore, store)
  )
})
