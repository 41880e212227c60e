/**
 * Faults as layers: each replaces good stores of any kind by stores that misbehave.
 *
 * ```ts
 * const fault = Faults.Fault.FailsAfter()
 * const stores = Faults.layer((operation) => operation === "GrantStore.save" ? fault : undefined)(MyStores.layer)
 * ```
 *
 * Or on demand, from within a test: `Faults.onDemand(MyStores.layer)` and the service `Faults`.
 */
import { ApplicationStore } from "@startlist/core/Application"
import { DeliveryStore } from "@startlist/core/Delivery"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { GrantStore } from "@startlist/core/Grant"
import { ImportStore } from "@startlist/core/ImportStore"
import { PersonStore } from "@startlist/core/PersonalData"
import { RegistrationStore } from "@startlist/core/Registration"
import { Conflict, StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import { SubscriptionStore } from "@startlist/core/Subscription"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

const tags = {
  ApplicationStore,
  DeliveryQueue,
  DeliveryStore,
  GrantStore,
  ImportStore,
  PersonStore,
  RegistrationStore,
  SubscriptionStore
}

type MethodsOf<Store> = Exclude<keyof Store, "wakeUps" | "nextDue"> & string

/** An operation of a store, for example `GrantStore.save`. */
export type StoreOperation = {
  [Name in keyof typeof tags]: `${Name}.${MethodsOf<Context.Tag.Service<typeof tags[Name]>>}`
}[keyof typeof tags]

/** Wraps an operation. `input` is its arguments. Only a `save` or an `erase` may fail with a `Conflict`. */
export type Around = <A, E>(
  operation: StoreOperation,
  effect: Effect.Effect<A, E | StoreError>,
  input: ReadonlyArray<unknown>
) => Effect.Effect<A, E | StoreError | Conflict>

const isOperation = (name: string): name is StoreOperation => (name.split(".")[0] ?? "") in tags

/** The store with `around` on every method. Workers poll it, as they poll a database. */
const wrap = <Store extends object>(name: keyof typeof tags, store: Store, around: Around): Store =>
  new Proxy(store, {
    get: (target, method) => {
      if (method === "nextDue") return undefined
      const member: unknown = Reflect.get(target, method)
      const operation = `${name}.${String(method)}`
      if (typeof member !== "function" || !isOperation(operation)) return member
      return (...input: ReadonlyArray<unknown>) => around(operation, Reflect.apply(member, target, input), input)
    }
  })

/** The stores with `around` on every operation. Also the `ImportStore`, if there is one. */
export const intercept = (stores: Context.Context<Stores>, around: Around): Context.Context<Stores> => {
  const imports = Option.match(Context.getOption(stores, ImportStore), {
    onNone: () => Context.empty(),
    onSome: (store) => Context.make(ImportStore, wrap("ImportStore", store, around))
  })
  const wrapped = <Id extends Stores, Store extends object>(name: keyof typeof tags, tag: Context.Tag<Id, Store>) =>
    Context.make(tag, wrap(name, Context.get(stores, tag), around))
  return Context.mergeAll(
    imports,
    wrapped("ApplicationStore", ApplicationStore),
    wrapped("DeliveryQueue", DeliveryQueue),
    wrapped("DeliveryStore", DeliveryStore),
    wrapped("GrantStore", GrantStore),
    wrapped("PersonStore", PersonStore),
    wrapped("RegistrationStore", RegistrationStore),
    wrapped("SubscriptionStore", SubscriptionStore)
  )
}

/** Stores with `around` on every operation, as a layer over a layer of stores: for a delay, a trace or a crash. */
export const intercepting = (around: Around): Layer.Layer<Stores, never, Stores> =>
  Layer.effectContext(Effect.map(Effect.context<Stores>(), (stores) => intercept(stores, around)))

/** A fault of one call to a store. Its durations are measured by Effect's clock. */
export type Fault = Data.TaggedEnum<{
  /** Fails with a `StoreError`. Nothing was written. */
  FailsBefore: {}
  /** Writes, then fails with a `StoreError`. The caller cannot know that it has written. */
  FailsAfter: {}
  /** Begins `by` later. A caller that gives up before then prevents the write. */
  Slow: { readonly by: Duration.DurationInput }
  /** Writes immediately and answers `by` later. A caller that gives up undoes nothing. */
  AnswersLate: { readonly by: Duration.DurationInput }
  /** Writes and answers `by` later, also if the caller has given up: a request that was delayed in the network. */
  WritesLate: { readonly by: Duration.DurationInput }
  /** Runs twice. The caller gets the first answer. */
  Repeats: {}
  /** A save or an erasure fails with a `Conflict`, and changes nothing. Other operations are not affected. */
  Conflicts: {}
}>
export const Fault = Data.taggedEnum<Fault>()

/** Chooses the fault of a call, if any. Runs once for each call. */
export type Decide = (operation: StoreOperation) => Fault | undefined

const failure = (operation: StoreOperation) => new StoreError({ cause: `${operation} was made to fail` })

const suffer = <A, E>(
  fault: Fault,
  operation: StoreOperation,
  effect: Effect.Effect<A, E | StoreError>
): Effect.Effect<A, E | StoreError | Conflict> =>
  Fault.$match(fault, {
    FailsBefore: () => failure(operation),
    FailsAfter: () => Effect.zipRight(Effect.exit(effect), failure(operation)),
    Slow: ({ by }) => Effect.delay(effect, by),
    AnswersLate: ({ by }) =>
      Effect.flatMap(Effect.forkDaemon(effect), (fiber) => Effect.zipRight(Effect.sleep(by), Fiber.join(fiber))),
    WritesLate: ({ by }) => Effect.flatMap(Effect.forkDaemon(Effect.delay(effect, by)), Fiber.join),
    Repeats: () => Effect.flatten(Effect.zipLeft(Effect.exit(effect), Effect.exit(effect))),
    Conflicts: () => /\.(?:save|erase)$/.test(operation) ? new Conflict() : effect
  })

/** The stores with the faults that `decide` chooses. */
export const inject = (stores: Context.Context<Stores>, decide: Decide): Context.Context<Stores> =>
  intercept(stores, (operation, effect) =>
    Effect.suspend(() => {
      const fault = decide(operation)
      return fault === undefined ? effect : suffer(fault, operation, effect)
    }))

/** A layer of stores with the faults that `decide` chooses. */
export const layer = (decide: Decide) => <E, R>(stores: Layer.Layer<Stores, E, R>): Layer.Layer<Stores, E, R> =>
  Layer.map(stores, (context) => inject(context, decide))

/** Switches faults on and off while a test runs. */
export class Faults extends Context.Tag("@startlist/testing/Faults")<Faults, Faults.Service>() {}

export declare namespace Faults {
  export interface Service {
    /** Gives the fault to the next `count` calls (of these operations, if given). */
    readonly next: (
      count: number,
      fault: Fault,
      operations?: ReadonlyArray<StoreOperation>
    ) => Effect.Effect<void>
    /** Gives the fault to all calls (of these operations, if given) from now on. */
    readonly always: (fault: Fault, operations?: ReadonlyArray<StoreOperation>) => Effect.Effect<void>
    /** No more faults. */
    readonly none: Effect.Effect<void>
  }
}

/** Stores without faults until a test adds some with `Faults`. The fault that was added first comes first. */
export const onDemand = <E, R>(stores: Layer.Layer<Stores, E, R>): Layer.Layer<Stores | Faults, E, R> =>
  Layer.unwrapEffect(Effect.sync(() => {
    let scripts: Array<{ left: number; readonly fault: Fault; readonly operations: ReadonlyArray<StoreOperation> }> = []
    const add = (left: number, fault: Fault, operations: ReadonlyArray<StoreOperation> = []) =>
      Effect.sync(() => void scripts.push({ left, fault, operations }))
    const control = Faults.of({
      next: add,
      always: (fault, operations) => add(Infinity, fault, operations),
      none: Effect.sync(() => void (scripts = []))
    })
    const decide: Decide = (operation) => {
      const script = scripts.find(({ operations }) => operations.length === 0 || operations.includes(operation))
      if (script === undefined) return undefined
      script.left--
      if (script.left <= 0) scripts.splice(scripts.indexOf(script), 1)
      return script.fault
    }
    return Layer.merge(layer(decide)(stores), Layer.succeed(Faults, control))
  }))
