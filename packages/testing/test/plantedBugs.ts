/** Stores with one bug each, made of good stores: what the laws must find. */
import { Delivery, Event, GrantStore, Memory, Registration } from "@startlist/core"
import { Context, Effect, Layer, Option } from "effect"

type Stores = Memory.Stores

/** The stores in memory, changed. */
export const planted = (change: (stores: Context.Context<Stores>) => Context.Context<Stores>): Layer.Layer<Stores> =>
  Layer.effectContext(Effect.map(Effect.context<Stores>(), change)).pipe(Layer.provide(Memory.layer))

const withGrants = (change: (grants: GrantStore.GrantStore.Service) => Partial<GrantStore.GrantStore.Service>) =>
  planted((stores) => {
    const grants = Context.get(stores, GrantStore.GrantStore)
    return Context.add(stores, GrantStore.GrantStore, { ...grants, ...change(grants) })
  })

const withDeliveries = (
  change: (deliveries: Delivery.DeliveryStore.Service) => Partial<Delivery.DeliveryStore.Service>
) =>
  planted((stores) => {
    const deliveries = Context.get(stores, Delivery.DeliveryStore)
    return Context.add(stores, Delivery.DeliveryStore, { ...deliveries, ...change(deliveries) })
  })

/** A replaced refresh token looks like the current one. */
export const rotationWithoutGeneration = withGrants(({ findByRefresh }) => ({
  findByRefresh: (hash) =>
    Effect.map(
      findByRefresh(hash),
      Option.map(({ credential, grant }) => ({
        grant,
        credential: { ...credential, generation: grant.generation }
      }))
    )
}))

/** A token of an earlier life looks like one of the present life. */
export const accessWithoutEpoch = withGrants(({ findByAccess }) => ({
  findByAccess: (hash) =>
    Effect.map(
      findByAccess(hash),
      Option.map(({ credential, grant }) => ({
        grant,
        credential: { ...credential, epoch: grant.epoch }
      }))
    )
}))

/** The last save wins, whatever was saved since it was decided: a refresh that races a revocation undoes it. */
export const saveWithoutVersion = withGrants(({ find, save }) => ({
  save: (change) =>
    Effect.flatMap(find(change.grant.applicationId, change.grant.userId), (present) =>
      save({
        ...change,
        grant: {
          ...change.grant,
          version: Option.match(present, { onNone: () => 0, onSome: ({ version }) => version }) + 1
        }
      }))
}))

/** The deliveries of a revocation are lost. */
export const revocationWithoutOutbox = withGrants(({ save }) => ({
  save: (change) => save({ ...change, outgoing: [] })
}))

/** The deliveries of a status change are lost. */
export const changeWithoutOutbox = planted((stores) => {
  const registrations = Context.get(stores, Registration.RegistrationStore)
  return Context.add(stores, Registration.RegistrationStore, {
    ...registrations,
    save: (next) => registrations.save(next, [])
  })
})

/** An event is told to applications whose access was revoked. */
export const audienceOfRevoked = planted((stores) => {
  const registrations = Context.get(stores, Registration.RegistrationStore)
  const applications = new Set<Event.Audience & { readonly _tag: "Application" }>()
  const grants = Context.get(stores, GrantStore.GrantStore)
  return stores.pipe(
    Context.add(GrantStore.GrantStore, {
      ...grants,
      save: (change) =>
        Effect.tap(grants.save(change), () =>
          Effect.sync(() => {
            if (change.grant.status === "revoked") {
              applications.add(Event.Audience.Application({ applicationId: change.grant.applicationId }))
            }
          }))
    }),
    Context.add(Registration.RegistrationStore, {
      ...registrations,
      save: (next, outgoing) =>
        registrations.save(next, [
          ...outgoing,
          ...outgoing.flatMap(({ event }) => [...applications].map((audience) => ({ audience, event })))
        ])
    })
  )
})

/** The first settlement of a batch is reported as recorded, and is not. */
export const settlementLost = withDeliveries(({ settle }) => ({
  settle: (settlements) => Effect.as(settle(settlements.slice(1)), settlements.map(({ delivery }) => delivery.id))
}))
