/**
 * All stores in memory, for tests and small programs. They are the reference for other stores.
 *
 * Every method is one synchronous step over plain maps, so it is atomic. `save` compares versions like a database.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Application, ApplicationId, ApplicationNotFound, ApplicationStore } from "./Application.ts"
import { first } from "./ApplicationSecret.ts"
import { DeliveryStore } from "./Delivery.ts"
import { DeliveryQueue } from "./DeliveryQueue.ts"
import { GrantStore } from "./GrantStore.ts"
import { cancel, type Enqueue, makeDeliveries } from "./internal/memoryDeliveries.ts"
import { makeGrantStore } from "./internal/memoryGrants.ts"
import { makePersonStore } from "./internal/memoryPersons.ts"
import { compareAndSet, makeState, newestFirst, saving, type State, wake } from "./internal/memoryState.ts"
import { PersonStore } from "./PersonStore.ts"
import { RegistrationId, RegistrationStore } from "./Registration.ts"
import { Conflict } from "./Store.ts"
import type { Stores } from "./Stores.ts"
import { AlreadySubscribed, SubscriptionId, SubscriptionStore } from "./Subscription.ts"

const makeApplicationStore = (
  { applications, firstSecrets, hints, lastIds, signingSecrets }: State
): ApplicationStore.Service => ({
  find: (id) => Effect.sync(() => Option.fromNullable(applications.get(id))),
  list: ({ after, limit, owner }) =>
    Effect.sync(() =>
      newestFirst(applications)
        .filter(({ state }) => state !== "ended")
        .filter((application) => Option.isNone(owner) || application.ownerId === owner.value)
        .filter((application) => Option.isNone(after) || application.id < after.value)
        .slice(0, limit)
    ),
  insert: (application, value) =>
    Effect.suspend(() => {
      const [secret] = application.secrets
      if (secret !== undefined && firstSecrets.has(secret.hash)) return Effect.fail(new Conflict())
      if (secret !== undefined) firstSecrets.add(secret.hash)
      const id = ApplicationId.make(++lastIds.application)
      const inserted: Application = { ...application, id, version: 1, state: "active", epoch: 0 }
      applications.set(id, inserted)
      signingSecrets.set(id, { applicationId: id, version: 1, secrets: [{ ...first, value }] })
      return Effect.succeed(inserted)
    }),
  save: (next) => saving(() => applications.has(next.id) && compareAndSet(applications, next.id, next) && wake(hints)),
  findSigningSecrets: (id) => Effect.sync(() => Option.fromNullable(signingSecrets.get(id))),
  saveSigningSecrets: (next) =>
    saving(() => signingSecrets.has(next.applicationId) && compareAndSet(signingSecrets, next.applicationId, next))
})

const makeSubscriptionStore = (state: State): SubscriptionStore.Service => {
  const { applications, lastIds, subscriptions } = state
  const byApplication = (id: ApplicationId) =>
    [...subscriptions.values()].find(({ applicationId }) => applicationId === id)
  return {
    findByApplication: (id) => Effect.sync(() => Option.fromNullable(byApplication(id))),
    list: ({ after, limit }) =>
      Effect.sync(() =>
        newestFirst(subscriptions).filter(({ id }) => Option.isNone(after) || id < after.value).slice(0, limit)
      ),
    insert: (subscription) =>
      Effect.suspend((): ReturnType<SubscriptionStore.Service["insert"]> => {
        const { applicationId } = subscription
        if (applications.get(applicationId)?.state === "ended") return new ApplicationNotFound({ applicationId })
        if (byApplication(applicationId) !== undefined) return new AlreadySubscribed()
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

/** All stores over one new state, which ends with the layer. */
export const layer: Layer.Layer<Stores> = Layer.syncContext(() => {
  const state = makeState()
  const { enqueue, queue, store } = makeDeliveries(state)
  return Context.make(ApplicationStore, makeApplicationStore(state)).pipe(
    Context.add(GrantStore, makeGrantStore(state, enqueue)),
    Context.add(SubscriptionStore, makeSubscriptionStore(state)),
    Context.add(RegistrationStore, makeRegistrationStore(state, enqueue)),
    Context.add(PersonStore, makePersonStore(state, enqueue)),
    Context.add(DeliveryQueue, queue),
    Context.add(DeliveryStore, store)
  )
})
