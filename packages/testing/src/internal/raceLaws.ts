/** Laws of operations that race: the result is that of some order, one after the other. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import * as Predicate from "effect/Predicate"
import * as Rec from "effect/Record"
import { type Law, law, type LawGroup } from "../Suite.ts"
import { atOnce, inTheMiddle, measured, rounds, type Stops, sweep } from "./rounds.ts"
import * as deliveries from "./deliveryScenes.ts"
import * as records from "./recordScenes.ts"
import {
  asText,
  type Handles,
  look,
  type MakeScene,
  oneOf,
  pick,
  type Seen,
  type Stage,
  staged,
  type WithHandles
} from "./stage.ts"

/** Operations that race for one record, or for the deliveries of one object. */
const races: ReadonlyArray<readonly [MakeScene, ReadonlyArray<ReadonlyArray<string>>]> = [
  [records.application, [
    ["a save of an application", "a save of an application"],
    ["a save of signing secrets", "a save of signing secrets"],
    ["a save of an application", "a save of signing secrets"],
    ["a save of a subscription", "a save of a subscription"],
    ["a save of a subscription", "a removal of a subscription"],
    ["a removal of a subscription", "a removal of a subscription"],
    ["an insertion of a subscription", "a removal of a subscription", "an insertion of a subscription"]
  ]],
  [records.records, [
    ["a save of a grant", "a save of a grant"],
    ["a first save of a grant", "a first save of a grant"],
    ["a save of a grant", "a revocation"],
    ["a save of a registration", "a revocation"],
    ["a save of a registration", "a save of a registration"],
    ["a save of a registration without events", "a save of a registration without events"],
    ["a save of a grant to another application", "a save of a grant to another application"],
    ["a save of a grant", "a removal of a subscription"],
    ["a save of a registration", "a removal of a subscription"],
    ["enqueueing several events", "a removal of a subscription"]
  ]],
  [deliveries.person, [
    ["an erasure", "an erasure"],
    ["an erasure", "a consent"],
    ["an erasure", "a consent after a revocation"],
    ["an erasure", "a first grant"],
    ["an erasure", "an insertion of a registration"],
    ["an erasure", "a save of a registration"],
    ["an erasure", "a delivery again"],
    ["an erasure", "a settlement"]
  ]],
  [records.unsubscribed, [
    ["a first insertion of a subscription", "a first insertion of a subscription"],
    ["a first insertion of a subscription", "the end of the application"]
  ]],
  [deliveries.queue, [
    ["a settlement", "a settlement"],
    ["a settlement", "a removal of a subscription"],
    ["a settlement", "a claim after the leases"],
    ["a settlement that is tried again", "a claim after the leases"],
    ["a settlement", "a release"],
    ["a release", "a claim after the leases"],
    ["a settlement", "a cancellation"],
    ["a settlement", "the next events of an object"],
    ["a cancellation", "the next events of an object"],
    ["a claim", "a claim"],
    ["a claim after the leases", "a claim after the leases"],
    ["a claim", "a removal of a subscription"],
    ["a delivery again", "a removal of a subscription"],
    ["a delivery again", "a delivery again"],
    ["a purge", "a purge"]
  ]]
]

/** All orders of `count` elements. */
const orders = (count: number): ReadonlyArray<ReadonlyArray<number>> =>
  count === 0
    ? [[]]
    : orders(count - 1).flatMap((order) =>
      Array.from({ length: count }, (_, place) => [...order.slice(0, place), count - 1, ...order.slice(place)])
    )

const objectOf = (one: unknown): number =>
  Predicate.isRecord(one) && Predicate.isRecord(one.event) && typeof one.event.objectId === "number"
    ? one.event.objectId
    : 0

/** Lists of deliveries by object: operations at the same time promise an order only among the events of one object. */
const byObject = (seen: Seen): Seen =>
  Rec.map(seen, (part) => Array.isArray(part) ? Arr.sortWith(part, objectOf, Order.number) : part)

const race = <R>(makeScene: MakeScene, names: ReadonlyArray<string>, withHandles: WithHandles<R>): Law<R> =>
  law(`${names.join(", ")}: as if one were after the other`, () =>
    withHandles((handles) =>
      Effect.gen(function*() {
        const [f] = handles
        const trial = (
          handles: Handles,
          run: (
            contenders: ReadonlyArray<Effect.Effect<unknown>>,
            stage: Stage
          ) => Effect.Effect<ReadonlyArray<unknown>, unknown>,
          parts?: ReadonlyArray<string>
        ) =>
          Effect.gen(function*() {
            const stage = yield* staged(makeScene, handles)
            const contenders = names.map((name, place) => stage.run(name, stage.handles[place % 2] ?? f, place + 1))
            const results = yield* run(contenders, stage)
            yield* stage.claimAgain
            const found = byObject(yield* look(stage, stage.handles[1], parts))
            const seen: Seen = { results, ...found, rest: yield* stage.rest }
            yield* stage.cleanUp
            return seen
          })
        let untouched: Seen | undefined
        const expected = new Map<string, Seen>()
        /** The steps of each, when it is the first. */
        const steps: Array<Stops<number>> = []
        for (const order of orders(names.length)) {
          const seen = yield* trial([f, f], (contenders, stage) =>
            Effect.gen(function*() {
              untouched ??= byObject(yield* look(stage, stage.handles[1]))
              const results: Array<unknown> = []
              for (const [turn, place] of order.entries()) {
                const [taken, result] = yield* measured(contenders[place] ?? Effect.void)
                results[place] = result
                if (turn === 0) steps[place] = taken
              }
              return results
            }))
          expected.set(`the order ${order.map((place) => place + 1).join(", ")}`, seen)
        }
        const all = [...expected.values()]
        const changed = Object.keys(all[0] ?? {}).filter((part) =>
          all.some((seen) => asText(seen[part]) !== asText(untouched?.[part]))
        )
        const orderly = Object.fromEntries([...expected].map(([order, seen]) => [order, pick(seen, changed)]))
        const mustBeOne = (seen: Seen) => oneOf(pick(seen, changed), orderly, "what came of all together")
        // Each operation in turn is stopped at each of its steps, while the others run. Of equal ones, one is enough.
        const turns = [...new Set(names)].map((name) => names.indexOf(name))
        const stops = Array.from({ length: Math.max(...steps.map(({ order }) => order.length)) }, (_, place) =>
          turns.flatMap((turn) =>
            Option.toArray(Option.map(Arr.get(steps[turn]?.order ?? [], place), (step) => ({ turn, step })))
          )).flat()
        const least = turns.reduce((sum, turn) => sum + (steps[turn]?.least ?? 0), 0)
        const millis = steps.reduce((most, one) =>
          Math.max(most, one.millis), 0)
        yield* sweep({ order: stops, least }, ({ step, turn }) =>
          Effect.map(
            trial(handles, (contenders) => {
              const others = contenders.filter((_, other) => other !== turn)
              const all = Effect.all(others, { concurrency: "unbounded" })
              return Effect.map(
                inTheMiddle([[contenders[turn] ?? Effect.void, step]], all, millis),
                ([[one], others]) => [...others.slice(0, turn), one, ...others.slice(turn)]
              )
            }, changed),
            mustBeOne
          ))
        // A store may join operations of one handle in one statement.
        const pairs: ReadonlyArray<Handles> = handles[1] === f ? [handles] : [[f, f], handles]
        const limits = { least: pairs.length, most: 20, millis: 20 }
        yield* rounds((round) =>
          Effect.map(trial(pairs[round % pairs.length] ?? handles, atOnce, changed), mustBeOne), limits)
      })
    ))

/** The races, between two handles or in one. Those with an erasure take longest: their scene has most records. */
export const racesOf = <R>(withHandles: WithHandles<R>): ReadonlyArray<LawGroup<R>> =>
  [false, true].map((isErasure) => ({
    about: isErasure ? "races with an erasure" : "races",
    laws: races
      .filter(([makeScene]) => (makeScene === deliveries.person) === isErasure)
      .flatMap(([makeScene, all]) => all.map((names) => race(makeScene, names, withHandles)))
  }))
