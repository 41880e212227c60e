/** Stores with one bug each, made of good stores, for the laws to find. */
import {
  AccessTokens,
  Application,
  Event,
  type Grant,
  GrantStore,
  Memory,
  Registration,
  Subscription
} from "@startlist/core"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import type { Stores } from "@startlist/core/Stores"
import { Operation, Program } from "@startlist/testing"
import { Context, Effect, FastCheck, Layer, Logger, LogLevel, Option } from "effect"
import { expect } from "vitest"

/** The stores in memory, changed. */
export const planted = (change: (stores: Context.Context<Stores>) => Context.Context<Stores>): Layer.Layer<Stores> =>
  Layer.effectContext(Effect.map(Effect.context<Stores>(), change)).pipe(Layer.provide(Memory.layer))

const withGrants = (change: (grants: GrantStore.GrantStore.Service) => Partial<GrantStore.GrantStore.Service>) =>
  planted((stores) => {
    const grants = Context.get(stores, GrantStore.GrantStore)
    return Context.add(stores, GrantStore.GrantStore, { ...grants, ...change(grants) })
  })

const withDeliveries = (
  change: (queue: DeliveryQueue.Service) => Partial<DeliveryQueue.Service>
) =>
  planted((stores) => {
    const queue = Context.get(stores, DeliveryQueue)
    return Context.add(stores, DeliveryQueue, { ...queue, ...change(queue) })
  })

/** A save that takes something over from the grant as it is. */
const saveWith = (change: (next: Grant.Grant, present: Grant.Grant) => Partial<Grant.Grant>) =>
  withGrants(({ find, save }) => ({
    save: ({ grant, outgoing }) =>
      Effect.flatMap(find(grant.applicationId, grant.userId), (present) =>
        save({
          grant: {
            ...grant,
            ...Option.match(present, { onNone: () => ({}), onSome: (known) => change(grant, known.grant) })
          },
          outgoing
        }))
  }))

/** The first refresh token stays the current one. */
export const rotationNotSaved = saveWith((next, { refresh }) =>
  next.status === "active" && Option.isSome(refresh) ? { refresh } : {}
)

/** Access tokens of an earlier life are kept. */
export const accessKept = saveWith(({ access }, present) => ({
  access: AccessTokens.AccessTokens.make(present.access + access)
}))

/** The last save wins, whatever was saved since it was decided: a refresh that races a revocation undoes it. */
export const saveWithoutVersion = withGrants(({ find, save }) => ({
  save: (change) =>
    Effect.flatMap(find(change.grant.applicationId, change.grant.userId), (present) =>
      save({
        ...change,
        grant: {
          ...change.grant,
          version: Option.match(present, { onNone: () => 0, onSome: ({ grant }) => grant.version }) + 1
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

const withApplications = (change: (next: Application.Application) => Partial<Application.Application>) =>
  planted((stores) => {
    const applications = Context.get(stores, Application.ApplicationStore)
    return Context.add(stores, Application.ApplicationStore, {
      ...applications,
      save: (next) => applications.save({ ...next, ...change(next) })
    })
  })

/** A suspended application goes on. */
export const stateNotSaved = withApplications(() => ({ state: "active" }))

/** To revoke all grants revokes none. */
export const epochNotSaved = withApplications(() => ({ epoch: 0 }))

/** An application that ends keeps its grants. */
export const grantsOutliveEnd = withApplications(({ epoch, state }) => state === "ended" ? { epoch: epoch - 1 } : {})

/** A pause is not saved. */
export const pauseNotSaved = planted((stores) => {
  const subscriptions = Context.get(stores, Subscription.SubscriptionStore)
  return Context.add(stores, Subscription.SubscriptionStore, {
    ...subscriptions,
    save: (next) => subscriptions.save({ ...next, paused: false })
  })
})

/** The grants of a user who is erased stay, unless there is one only. */
export const revokesOnce = planted((stores) => {
  const grants = Context.get(stores, GrantStore.GrantStore)
  const revoked = new Set<number>()
  return Context.add(stores, GrantStore.GrantStore, {
    ...grants,
    save: (change) =>
      Effect.suspend(() => {
        const { status, userId } = change.grant
        if (status !== "revoked") return grants.save(change)
        if (revoked.has(userId)) return Effect.void
        revoked.add(userId)
        return grants.save(change)
      })
  })
})

/** Where the search for counterexamples begins. */
export const seed = 3

export interface Bug {
  readonly name: string
  readonly stores: Layer.Layer<Stores>
  /** Where the search ends: the path of its counterexample. */
  readonly path: string
}

export const bugs: ReadonlyArray<Bug> = [
  { name: "a replaced refresh token is accepted", stores: rotationNotSaved, path: "5:1:0:3:3:2" },
  {
    name: "a token outlives the revocation once the user consents again",
    stores: accessKept,
    path: "1:2:0:2:4:2"
  },
  { name: "a refresh that races a revocation undoes it", stores: saveWithoutVersion, path: "29:2:0:1:5:5:9:5:0" },
  { name: "a revocation is saved without its event", stores: revocationWithoutOutbox, path: "28:3:0:2:4:7:4" },
  { name: "a status change is saved without its events", stores: changeWithoutOutbox, path: "6:2:5:8:6:6:6:4" },
  {
    name: "an application gets events after its access was revoked",
    stores: audienceOfRevoked,
    path: "1:2:0:2:6:6:7:7:6:5"
  },
  { name: "a suspended application goes on", stores: stateNotSaved, path: "1:2:0:4:6:7:7:4" },
  { name: "to revoke all grants revokes none", stores: epochNotSaved, path: "3:3:0:4:7:2" },
  { name: "an application that ends keeps its grants", stores: grantsOutliveEnd, path: "" },
  { name: "a pause is not saved", stores: pauseNotSaved, path: "" },
  { name: "an erasure revokes only one of the grants", stores: revokesOnce, path: "" },
  { name: "a settlement is lost", stores: settlementLost, path: "3:2:0:0:1:5:7:8:1:4:3" }
]

const runs = FastCheck.record({ program: Operation.program(), seed: FastCheck.nat() })

/** Number of operations, those of parallel groups included. */
const size = (program: Operation.Program): number =>
  program.reduce((sum, operation) => sum + (operation._tag === "Parallel" ? operation.operations.length : 1), 0)

/** Checks programs until one shows the bug: the counterexample must have at most six operations. */
export const expectFound = async (
  { stores }: Bug,
  parameters: { readonly seed: number; readonly numRuns?: number; readonly path?: string }
): Promise<void> => {
  const found = await FastCheck.check(
    FastCheck.asyncProperty(
      runs,
      ({ program, seed }) =>
        Effect.runPromise(
          Program.check(program, { seed }).pipe(Effect.provide(stores), Logger.withMinimumLogLevel(LogLevel.None))
        )
    ),
    parameters
  )
  const [counterexample] = found.counterexample ?? []
  expect(found.failed, "no counterexample: after a change of the programs, take the path from the system tier").toBe(
    true
  )
  expect(String(found.errorInstance)).toContain("LawBroken")
  const report = `path ${found.counterexamplePath}: ${JSON.stringify(counterexample)}`
  expect(size(counterexample?.program ?? []), report).toBeLessThanOrEqual(6)
  if (parameters.path === undefined) console.log(report)
}
