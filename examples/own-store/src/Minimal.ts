/** A small but complete adapter: all stores over a database of documents. `docs/adapters.md` explains it. */
import {
  Application,
  Delivery,
  DeliveryQueue,
  type Event,
  GrantStore,
  Registration,
  Store,
  type Stores,
  Subscription
} from "@startlist/core"
import { Context, Effect, Layer, Option, PubSub } from "effect"
import { type Collection, type Database, type Documents, open } from "./Documents.ts"
import {
  cancel,
  type Collections,
  enqueue,
  fits,
  isActive,
  makeCollections,
  makeDeliveries,
  page
} from "./MinimalQueue.ts"
import type { Seal } from "./Seal.ts"

const make = (documents: Documents, collections: Collections, hints: PubSub.PubSub<void>) => {
  const { atomically } = documents
  const { applications, grants, pending, registrations, signing, subscriptions } = collections
  const wake = PubSub.publish(hints, undefined)

  /** Writes `next` over the version before it, with its events, or fails. `versionOf` returns the stored version. */
  const save = <A extends { readonly version: number }>(
    records: Collection<A>,
    key: ReadonlyArray<number>,
    next: A,
    versionOf: (before: A | undefined) => number | undefined,
    outgoing: ReadonlyArray<Event.Outgoing> = []
  ): Effect.Effect<void, Store.Conflict | Store.StoreError> =>
    Effect.flatten(atomically(() => {
      if (versionOf(records.get(...key)) !== next.version - 1) return new Store.Conflict()
      records.put(next, ...key)
      enqueue(collections, outgoing)
      return wake
    }))

  const deliveries = makeDeliveries(documents, collections, hints)
  return Context.make(Application.ApplicationStore, {
    find: (id) => atomically(() => Option.fromNullable(applications.get(id))),
    list: ({ after, limit, owner }) =>
      atomically(() =>
        page(
          applications.all().filter(({ ownerId, state }) => state !== "ended" && fits(owner, ownerId)),
          after,
          limit
        )
      ),
    insert: (application, value) =>
      atomically(() => {
        const id = Application.ApplicationId.make(applications.nextId())
        signing.put({ applicationId: id, version: 1, secrets: [{ value, expiresAt: Option.none() }] }, id)
        const inserted = { ...application, id, version: 1, state: "active", epoch: 0 } as const
        applications.put(inserted, id)
        return inserted
      }),
    save: (next) => save(applications, [next.id], next, (before) => before?.version),
    findSigningSecrets: (id) => atomically(() => Option.fromNullable(signing.get(id))),
    saveSigningSecrets: (next) => save(signing, [next.applicationId], next, (before) => before?.version)
  }).pipe(
    Context.add(GrantStore.GrantStore, {
      find: (id, user) =>
        atomically(() =>
          Option.all({
            grant: Option.fromNullable(grants.get(id, user)),
            application: Option.fromNullable(applications.get(id))
          })
        ),
      listByUser: (user) =>
        atomically(() =>
          applications.keys().filter((id) => isActive(collections, id, user)).flatMap((id) =>
            grants.get(id, user) ?? []
          )
            .sort((a, b) => a.grantedAt.epochMillis - b.grantedAt.epochMillis)
        ),
      listByApplication: (id, limit) =>
        atomically(() =>
          grants.all().filter(({ applicationId, userId }) => applicationId === id && isActive(collections, id, userId))
            .slice(0, limit)
        ),
      save: ({ grant, outgoing }) =>
        save(grants, [grant.applicationId, grant.userId], grant, (before) => before?.version ?? 0, outgoing)
    }),
    Context.add(Registration.RegistrationStore, {
      find: (id) => atomically(() => Option.fromNullable(registrations.get(id))),
      insert: (registration) =>
        atomically(() => {
          const id = Registration.RegistrationId.make(registrations.nextId())
          registrations.put({ ...registration, id, version: 1 }, id)
          return { ...registration, id, version: 1 }
        }),
      save: (next, outgoing) => save(registrations, [next.id], next, (before) => before?.version, outgoing)
    }),
    Context.add(Subscription.SubscriptionStore, {
      findByApplication: (id) => atomically(() => Option.fromNullable(subscriptions.get(id))),
      insert: (subscription) =>
        Effect.flatten(atomically((): ReturnType<Subscription.SubscriptionStore.Service["insert"]> => {
          const { applicationId } = subscription
          if (applications.get(applicationId)?.state === "ended") {
            return new Application.ApplicationNotFound({ applicationId })
          }
          if (subscriptions.get(applicationId) !== undefined) return new Subscription.AlreadySubscribed()
          const id = Subscription.SubscriptionId.make(subscriptions.nextId())
          const inserted = { ...subscription, id, version: 1, paused: false }
          subscriptions.put(inserted, subscription.applicationId)
          return Effect.succeed(inserted)
        })),
      list: ({ after, limit }) => atomically(() => page(subscriptions.all(), after, limit)),
      save: (next) =>
        save(
          subscriptions,
          [next.applicationId],
          next,
          (before) => before?.id === next.id ? before.version : undefined
        ),
      remove: (id, now) =>
        atomically(() => {
          for (const { delivery } of pending.all().filter(({ delivery }) => delivery.subscriptionId === id)) {
            cancel(collections, delivery, now)
          }
          const found = subscriptions.all().find((subscription) => subscription.id === id)
          return found !== undefined && subscriptions.remove(found.applicationId)
        })
    }),
    Context.add(Delivery.DeliveryStore, deliveries),
    Context.add(DeliveryQueue.DeliveryQueue, deliveries)
  )
}

/** All stores over this database. */
export const layerWith = (database: Database, seal: Seal): Layer.Layer<Stores.Stores> =>
  Layer.effectContext(Effect.map(PubSub.sliding<void>(1), (hints) => {
    const documents = open(database)
    return make(documents, makeCollections(documents, seal), hints)
  }))
