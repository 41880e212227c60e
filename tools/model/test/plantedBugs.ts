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
import * as Operation from "../src/Operation.ts"
import * as Program from "../src/Program.ts"
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

/** Applications whose access was revoked are notified, too. */
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

/** A suspended application still works. */
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

/** Where the search for counterexamples begins. */
export const seed = 3

export interface Bug {
  readonly name: string
  readonly stores: Layer.Layer<Stores>
  /** Where the search ends: the path of its counterexample. */
  readonly path: string
}

export const bugs: ReadonlyArray<Bug> = [
  { name: "a replaced refresh token is accepted", stores: rotationNotSaved, path: "1:3:0:1:8:6:5:5" },
  {
    name: "a token outlives the revocation once the user consents again",
    stores: accessKept,
    path: "0:1:0:0:3:2:2"
  },
  {
    name: "a refresh that races a revocation undoes it",
    stores: saveWithoutVersion,
    path: "94:2:0:0:4:5:11:11:12:6:1:6:6:6"
  },
  { name: "a revocation is saved without its event", stores: revocationWithoutOutbox, path: "11:3:0:1:6:9:4" },
  { name: "a status change is saved without its events", stores: changeWithoutOutbox, path: "27:6:8:9:8:5:4:4" },
  {
    name: "an application gets events after its access was revoked",
    stores: audienceOfRevoked,
    path: "21:4:3:7:7:10:11:16:5:10:9:9:9:5"
  },
  { name: "a suspended application goes on", stores: stateNotSaved, path: "3:1:1:3:3" },
  { name: "to revoke all grants revokes none", stores: epochNotSaved, path: "3:2:1:2:7:8:9:5:5:6:9:4:4:5:6:7" },
  {
    name: "an application that ends keeps its grants",
    stores: grantsOutliveEnd,
    path: "14:2:1:6:4:4:7:7:10:4:4:4:0:2:2:3:3:3:3:2:2:3:4"
  },
  { name: "a pause is not saved", stores: pauseNotSaved, path: "81:2:0:2:3:3:2:3" },
  { name: "a settlement is lost", stores: settlementLost, path: "0:3:1:3:5:4:12:14:0:5:5:4:4:4" }
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
