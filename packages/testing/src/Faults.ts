/**
 * Faults as layers: each puts a misbehaving store in the place of a good one, whatever it is made of.
 *
 * ```ts
 * const stores = Faults.sometimes({ seed: 7, probability: 0.1, fault: Faults.Fault.FailsAfter() })(MyStores.layer)
 * ```
 *
 * Or on demand, from within a test: `Faults.onDemand(MyStores.layer)` and the service `Faults`.
 */
import type { Stores } from "@startlist/core/Stores"
import { Conflict, StoreError } from "@startlist/core/Store"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { PCGRandom } from "effect/Utils"
import { intercept, type StoreOperation } from "./Interception.ts"
import { withClockOffset } from "./VirtualTime.ts"

/** One way in which one call to a store goes wrong. Times pass on Effect's clock. */
export type Fault = Data.TaggedEnum<{
  /** Fails with a `StoreError`. Nothing was written. */
  FailsBefore: {}
  /** Writes, then fails with a `StoreError`: the caller cannot know. */
  FailsAfter: {}
  /** Begins `by` later. A caller that has given up until then prevents the write. */
  Slow: { readonly by: Duration.DurationInput }
  /** Writes at once and answers `by` later. A caller that gives up undoes nothing. */
  AnswersLate: { readonly by: Duration.DurationInput }
  /** Writes and answers `by` later, also when the caller has given up: a request that hung in the network. */
  WritesLate: { readonly by: Duration.DurationInput }
  /** Is carried out twice; the caller gets the first answer. */
  Repeats: {}
  /** A compare-and-set meets a `Conflict` that nobody caused. Other operations are not harmed. */
  Conflicts: {}
}>
export const Fault = Data.taggedEnum<Fault>()

/** Which fault, if any, befalls a call. Asked once for each call. */
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
    Conflicts: () => operation.endsWith(".save") ? new Conflict() : effect
  })

/** The stores with the faults that `decide` chooses. */
export const inject = (stores: Context.Context<Stores>, decide: Decide): Context.Context<Stores> =>
  intercept(stores, (operation, effect) =>
    Effect.suspend(() => {
      const fault = decide(operation)
      return fault === undefined ? effect : suffer(fault, operation, effect)
    }))

/** Whatever `decide` chooses, as a layer around any layer of stores. */
export const layer = (decide: Decide) => <E, R>(stores: Layer.Layer<Stores, E, R>): Layer.Layer<Stores, E, R> =>
  Layer.map(stores, (context) => inject(context, decide))

export interface Sometimes {
  /** The same seed and the same calls give the same faults. */
  readonly seed: number
  /** Between 0 and 1, for each call. */
  readonly probability: number
  readonly fault: Fault
  /** Only these operations; all, if not given. */
  readonly operations?: ReadonlyArray<StoreOperation>
}

/** A fault now and then. */
export const sometimes = (options: Sometimes) => <E, R>(stores: Layer.Layer<Stores, E, R>): Layer.Layer<Stores, E, R> =>
  Layer.unwrapEffect(Effect.sync(() => {
    const random = new PCGRandom(options.seed)
    return layer((operation) =>
      (options.operations?.includes(operation) ?? true) && random.number() < options.probability
        ? options.fault
        : undefined
    )(stores)
  }))

/** Switches faults on and off while a test runs. */
export class Faults extends Context.Tag("@startlist/testing/Faults")<Faults, Faults.Service>() {}

export declare namespace Faults {
  export interface Service {
    /** The next `count` calls suffer it; with `operations`, the next of these. */
    readonly next: (
      count: number,
      fault: Fault,
      operations?: ReadonlyArray<StoreOperation>
    ) => Effect.Effect<void>
    /** All calls suffer it from now on; with `operations`, all of these. */
    readonly always: (fault: Fault, operations?: ReadonlyArray<StoreOperation>) => Effect.Effect<void>
    /** No more faults. */
    readonly none: Effect.Effect<void>
  }
}

/** The stores, good until `Faults` says otherwise. What was scripted first comes first. */
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

/** The clock of one node, ahead of the others by `offset` (negative: behind). Sleeps last as long as ever. */
export const clockOffset = (offset: Duration.DurationInput): Layer.Layer<never> =>
  Layer.unwrapEffect(withClockOffset(offset)(Effect.clockWith((clock) => Effect.succeed(Layer.setClock(clock)))))
