/** A planted fault: a mistake of a kind that real code has, for the tests to find. */
import { type Application, ApplicationStore, type SigningSecrets } from "@startlist/core/Application"
import { DeliveryStore } from "@startlist/core/Delivery"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import type { Outgoing } from "@startlist/core/Event"
import { type Grant, GrantStore } from "@startlist/core/Grant"
import { PersonStore } from "@startlist/core/PersonalData"
import { type Registration, RegistrationStore } from "@startlist/core/Registration"
import type { Conflict, StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import { type Subscription, SubscriptionStore } from "@startlist/core/Subscription"
import { Context, Effect, Option } from "effect"
import type { Program } from "../../src/Operation.ts"

export type Kind = "rule" | "torn" | "race" | "find" | "handle" | "field" | "key" | "size" | "time"

/** The tests that find a fault. */
export interface FoundBy {
  readonly storeLaws?: boolean
  readonly rules?: boolean
  /** Random programs, or also this one. */
  readonly programs?: true | Program
  /** The laws that it may break first, a seed that shows it, and the maximum number of steps of a counterexample. */
  readonly simulation?: { readonly laws: ReadonlyArray<number>; readonly seed: number; readonly steps?: number }
}

/** A text of the core that is replaced by another one: it occurs once in the file. */
export interface Source {
  readonly file: string
  readonly from: string
  readonly to: string
}

export type Change = (stores: Context.Context<Stores>) => Context.Context<Stores>

export interface Fault<Plant = Source | Change> {
  readonly name: string
  readonly kind: Kind
  readonly plant: Plant
  readonly foundBy: FoundBy
}

export const isInCore = (fault: Fault): fault is Fault<Source> => typeof fault.plant === "object"
export const isInStores = (fault: Fault): fault is Fault<Change> => typeof fault.plant === "function"

/** Faults in a file of the core: by name, a text, and what it is replaced by. */
export const inCore = (
  file: string,
  foundBy: FoundBy,
  faults: Readonly<Record<string, readonly [from: string, to?: string]>>
): ReadonlyArray<Fault<Source>> =>
  Object.entries(faults).map(([name, [from, to = ""]]) => ({ name, kind: "rule", plant: { file, from, to }, foundBy }))

export interface All {
  readonly applications: ApplicationStore.Service
  readonly deliveries: DeliveryQueue.Service & DeliveryStore.Service
  readonly grants: GrantStore.Service
  readonly persons: PersonStore.Service
  readonly registrations: RegistrationStore.Service
  readonly subscriptions: SubscriptionStore.Service
}

type Changes = { readonly [K in keyof All]?: Partial<All[K]> }

/** A fault in copies of good stores, made of their own operations. */
export const inStores = (
  kind: Kind,
  name: string,
  change: (all: All) => Changes,
  foundBy: FoundBy = { storeLaws: true }
): Fault<Change> => ({
  kind,
  name,
  foundBy,
  plant: (stores) => {
    const all: All = {
      applications: Context.get(stores, ApplicationStore),
      deliveries: { ...Context.get(stores, DeliveryQueue), ...Context.get(stores, DeliveryStore) },
      grants: Context.get(stores, GrantStore),
      persons: Context.get(stores, PersonStore),
      registrations: Context.get(stores, RegistrationStore),
      subscriptions: Context.get(stores, SubscriptionStore)
    }
    const changed = change(all)
    return stores.pipe(
      Context.add(ApplicationStore, { ...all.applications, ...changed.applications }),
      Context.add(DeliveryQueue, { ...all.deliveries, ...changed.deliveries }),
      Context.add(DeliveryStore, { ...all.deliveries, ...changed.deliveries }),
      Context.add(GrantStore, { ...all.grants, ...changed.grants }),
      Context.add(PersonStore, { ...all.persons, ...changed.persons }),
      Context.add(RegistrationStore, { ...all.registrations, ...changed.registrations }),
      Context.add(SubscriptionStore, { ...all.subscriptions, ...changed.subscriptions })
    )
  }
})

/** Makes faults of one store. */
const faultsOf = <K extends keyof All>(store: K) =>
(
  kind: Kind,
  name: string,
  change: (good: All[K], all: All) => Partial<All[K]>,
  foundBy?: FoundBy
): Fault<Change> => inStores(kind, name, (all) => ({ [store]: change(all[store], all) }), foundBy)

export const applications = faultsOf("applications")
export const deliveries = faultsOf("deliveries")
export const grants = faultsOf("grants")
export const persons = faultsOf("persons")
export const registrations = faultsOf("registrations")
export const subscriptions = faultsOf("subscriptions")

interface Records {
  readonly applications: Application
  readonly grants: Grant
  readonly registrations: Registration
  readonly signingSecrets: SigningSecrets
  readonly subscriptions: Subscription
}

type Saved = Effect.Effect<void, Conflict | StoreError>
type Save<A> = (next: A, outgoing: ReadonlyArray<Outgoing>) => Saved

interface Port<A> {
  readonly find: (all: All, next: A) => Effect.Effect<Option.Option<A>, StoreError>
  readonly save: (all: All) => Save<A>
  readonly install: (save: Save<A>) => Changes
}

const ports: { readonly [K in keyof Records]: Port<Records[K]> } = {
  applications: {
    find: ({ applications }, { id }) => applications.find(id),
    save: ({ applications }) => applications.save,
    install: (save) => ({ applications: { save: (next) => save(next, []) } })
  },
  grants: {
    find: ({ grants }, { applicationId, userId }) =>
      Effect.map(grants.find(applicationId, userId), Option.map(({ grant }) => grant)),
    save: ({ grants }) => (grant, outgoing) => grants.save({ grant, outgoing }),
    install: (save) => ({ grants: { save: ({ grant, outgoing }) => save(grant, outgoing) } })
  },
  registrations: {
    find: ({ registrations }, { id }) => registrations.find(id),
    save: ({ registrations }) => registrations.save,
    install: (save) => ({ registrations: { save } })
  },
  signingSecrets: {
    find: ({ applications }, { applicationId }) => applications.findSigningSecrets(applicationId),
    save: ({ applications }) => applications.saveSigningSecrets,
    install: (save) => ({ applications: { saveSigningSecrets: (next) => save(next, []) } })
  },
  subscriptions: {
    find: ({ subscriptions }, { applicationId }) => subscriptions.findByApplication(applicationId),
    save: ({ subscriptions }) => subscriptions.save,
    install: (save) => ({ subscriptions: { save: (next) => save(next, []) } })
  }
}

export interface Good<A> {
  readonly all: All
  readonly save: Save<A>
  /** The record that is stored in its place. */
  readonly stored: Effect.Effect<Option.Option<A>, StoreError>
}

/** A fault of the save of one kind of record. */
export const saves = <K extends keyof Records>(
  kind: Kind,
  what: K,
  name: string,
  save: (next: Records[K], good: Good<Records[K]>, outgoing: ReadonlyArray<Outgoing>) => Saved,
  foundBy?: FoundBy
): Fault<Change> => {
  const port: Port<Records[K]> = ports[what]
  return inStores(
    kind,
    name,
    (all) =>
      port.install((next, outgoing) =>
        save(next, { all, save: port.save(all), stored: port.find(all, next) }, outgoing)
      ),
    foundBy
  )
}

/** Saves another record in place of the one that is given. */
export const instead = <K extends keyof Records>(
  what: K,
  name: string,
  change: (next: Records[K], stored: Records[K] | undefined) => Records[K],
  foundBy?: FoundBy
): Fault<Change> =>
  saves(
    "field",
    what,
    name,
    (next, { save, stored }, outgoing) =>
      Effect.flatMap(stored, (found) => save(change(next, Option.getOrUndefined(found)), outgoing)),
    foundBy
  )
