/** Laws of operations that are interrupted or observed: each takes effect at one moment. */
import type { Stores } from "@startlist/core/Services"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import { map } from "effect/Record"
import { type Law, law, type LawGroup } from "../Suite.ts"
import { holds, same } from "./expecting.ts"
import {
  atOnce,
  atRest,
  interrupted,
  inTheMiddle,
  measured,
  noStops,
  rounds,
  stepsOf,
  type Stops,
  sweep
} from "./rounds.ts"
import * as deliveries from "./deliveryScenes.ts"
import * as records from "./recordScenes.ts"
import { alone, asText, look, type MakeScene, oneOf, pick, type Seen, staged } from "./stage.ts"
import { interruptAt } from "./stepping.ts"

type Operations = ReadonlyArray<readonly [MakeScene, ReadonlyArray<string>]>

/** Operations that write several records, or one record that several finds return. */
const usual: Operations = [
  [records.application, [
    "a revocation of all grants",
    "a save of an application",
    "a save of signing secrets",
    "a save of a subscription",
    "an insertion of an application"
  ]],
  [records.records, [
    "a save of a grant",
    "a first save of a grant",
    "a revocation",
    "a save of a registration",
    "enqueueing several events"
  ]],
  [records.unsubscribed, ["a first insertion of a subscription"]],
  [deliveries.person, ["an erasure"]],
  [deliveries.queue, [
    "a removal of a subscription",
    "settling several deliveries",
    "releasing several claims",
    "a delivery again",
    "a cancellation"
  ]]
]

/** Operations that write one record, which a store may write in parts in some states. */
const rare: Operations = [
  [records.records, ["an insertion of a registration"]],
  [records.application, ["the end of the application", "a pause"]],
  [records.after(records.application, "a pause"), ["a resumption"]],
  [
    records.after(records.records, "enqueueing several events", "a removal of a subscription"),
    ["an insertion of a subscription"]
  ],
  [deliveries.queue, ["a settlement", "a release"]]
]

/** Operations on one record or a few, which are interrupted at each step and seen by another handle. */
export const operations: Operations = [...usual, ...rare]

/** Operations that write many records. */
const large: Operations = [
  [deliveries.backlog, [
    "a removal of a subscription",
    "a cancellation",
    "settling all deliveries",
    "enqueueing many events",
    "a purge"
  ]]
]

/**
 * Runs operations alone, one after the other. Returns what there is before and after each, the parts that change, the
 * steps of finds, and the steps of the last operation.
 */
const rehearsed = (makeScene: MakeScene, names: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const handles = yield* alone
    const stage = yield* staged(makeScene, handles)
    const [f] = stage.handles
    const looked = yield* Effect.all(map(stage.parts(f), measured))
    const first = map(looked, ([, found]) => found)
    const moments: Array<Seen> = [first]
    let steps: Stops<number> = noStops
    for (const name of names) {
      steps = yield* stepsOf(stage.run(name, f))
      moments.push(yield* look(stage, f))
    }
    const last = moments.at(-1) ?? {}
    const changed = Object.keys(first).filter((part) => asText(first[part]) !== asText(last[part]))
    holds(changed.length > 0, `${names.join(" and then ")} changes something`)
    // In the middle of an operation, the log may show what it does not show afterwards.
    if ("log" in first && !changed.includes("log")) changed.push("log")
    const before = pick(first, changed)
    const after = pick(last, changed)
    same(yield* look(stage, f, changed), after, "what a second look finds")
    return {
      after,
      before,
      changed,
      finds: changed.flatMap((part) => looked[part]?.[0] ?? []),
      handles,
      makeScene,
      moments,
      names,
      stage,
      steps
    }
  })

type Rehearsed = Effect.Effect.Success<ReturnType<typeof rehearsed>>

/** A new stage. The operations are one effect, which returns the answer of the last one. */
const restaged = ({ handles, makeScene, names }: Rehearsed) =>
  Effect.map(staged(makeScene, handles), (stage) => {
    const [by] = stage.handles
    return {
      by,
      operation: names.map((name) => stage.run(name, by)).reduce((all, next) => Effect.zipRight(all, next)),
      stage
    }
  })

/** Interrupts the operation at each of its steps and at random moments. */
const isWholeAfterInterruptions = (rehearsal: Rehearsed) =>
  Effect.gen(function*() {
    const { after, before, changed, steps } = rehearsal
    const once = yield* rehearsal.stage.rest
    const second = yield* restaged(rehearsal)
    yield* second.operation
    yield* second.operation
    const twice = yield* look(second.stage, second.by, changed)
    const claimed = { "one of it": { claimed: once }, "two of it": { claimed: yield* second.stage.rest } }
    yield* second.stage.cleanUp
    const isWhole = (seen: Seen) => [before, after].some((one) => asText(one) === asText(seen))
    const trial = (interrupt: (operation: Effect.Effect<unknown>) => Effect.Effect<unknown>) =>
      Effect.gen(function*() {
        const { by, operation, stage } = yield* restaged(rehearsal)
        yield* interrupt(operation)
        const seen = yield* atRest(look(stage, by, changed), isWhole)
        oneOf(seen, { "before it": before, "after it": after }, "what is there after an interruption")
        // It can be done again, unless the database has completed it since.
        const answer = yield* operation
        const isRefused = typeof answer === "string"
        const again = yield* look(stage, by, changed)
        const expected = { ...!isRefused && { "two of it": twice }, "one of it": after }
        oneOf(again, expected, `what is there when it was done again, and answered ${asText(answer)}`)
        oneOf({ claimed: yield* stage.rest }, claimed, "what is claimed when it was done again")
        yield* stage.cleanUp
      })
    yield* sweep(steps, (step) => trial((operation) => interruptAt(operation, step)))
    yield* rounds(() => trial((operation) => interrupted(operation, steps.millis)))
  })

/** Looks in the middle of the operation. A reader that sees a part of it sees all of it from then on. */
const isWholeForReaders = (rehearsal: Rehearsed) =>
  Effect.gen(function*() {
    const { after, before, changed, steps } = rehearsal
    const trial = (
      beside: (
        operation: Effect.Effect<unknown>,
        looking: Effect.Effect<void, unknown>
      ) => Effect.Effect<unknown, unknown>
    ) =>
      Effect.gen(function*() {
        const { by, operation, stage } = yield* restaged(rehearsal)
        const looking = Effect.gen(function*() {
          const seen = yield* look(stage, by, changed)
          const isSeen = changed.some((part) => asText(seen[part]) !== asText(before[part]))
          if (isSeen) same(yield* look(stage, by, changed), after, "what is there when a part was seen")
        })
        yield* beside(operation, looking)
        same(yield* look(stage, by, changed), after, "what is there when it is done")
        yield* stage.cleanUp
      })
    yield* sweep(
      steps,
      (step) => trial((operation, looking) => inTheMiddle([[operation, step]], looking, steps.millis))
    )
    yield* rounds(() => trial((operation, looking) => atOnce<unknown, unknown>([operation, looking, looking])))
  })

/** Stops finds at each of their steps, while operations happen. Each shows one moment, and the next finds show the last. */
const findsShowOneMoment = (rehearsal: Rehearsed) =>
  Effect.gen(function*() {
    const { after, changed, finds: steps, moments } = rehearsal
    const most = Math.max(...steps.map(({ order }) => order.length))
    const least = Math.max(...steps.map(({ least }) => least))
    const millis = Math.max(rehearsal.steps.millis, ...steps.map(({ millis }) => millis))
    yield* sweep({ order: Arr.range(0, most - 1), least }, (place) =>
      Effect.gen(function*() {
        const { by, operation, stage } = yield* restaged(rehearsal)
        const finds = yield* Effect.forEach(Object.values(stage.parts(by, changed)), (find, part) =>
          Effect.gen(function*() {
            const known = steps[part]?.order ?? []
            // A longer one may take steps for each record of the store, which has more records in each trial.
            const order = known.length < 1000 ? known : (yield* stepsOf(find)).order
            return [find, order[place] ?? place] as const
          }))
        const [found, next] = yield* inTheMiddle(finds, Effect.zipRight(operation, look(stage, by, changed)), millis)
        same(next, after, "what the next finds show")
        for (const [place, part] of changed.entries()) {
          const known = moments.map((seen, count) => [`the state after ${count} of it`, pick(seen, [part])] as const)
          oneOf({ [part]: found[place] }, Object.fromEntries(known), "what a find shows")
        }
        yield* stage.cleanUp
      }))
  })

/** Operations on records that one find returns together. */
const sequences: ReadonlyArray<readonly [MakeScene, ReadonlyArray<string>]> = [
  [records.records, ["a save of an application", "a save of a grant"]],
  [records.records, ["a save of a grant", "a save of an application"]],
  [records.records, ["a save of a grant", "a save of a grant to another application"]],
  [records.records, [
    "a save of a grant to another application",
    "a revocation of all grants",
    "a renewal of a grant"
  ]],
  [records.lists, ["a revocation of all grants", "a renewal of a grant"]],
  [records.lists, ["the end of the application"]],
  [deliveries.queue, ["a settlement", "the next events of an object"]],
  [deliveries.pages, ["a settlement", "a settlement of a later delivery"]]
]

const lawOf = (
  name: string,
  [makeScene, names]: readonly [MakeScene, ReadonlyArray<string>],
  ...checks: ReadonlyArray<(rehearsal: Rehearsed) => Effect.Effect<void, unknown>>
): Law<Stores> =>
  law(name, () =>
    Effect.gen(function*() {
      const rehearsal = yield* rehearsed(makeScene, names)
      for (const check of checks) yield* check(rehearsal)
      yield* rehearsal.stage.cleanUp
    }))

const interruptions = (where: string) => ([makeScene, names]: Operations[number]) =>
  names.map((name) =>
    lawOf(
      `${name}${where} that is interrupted at any moment is done completely or not at all`,
      [makeScene, [name]],
      isWholeAfterInterruptions
    )
  )

export const atomicityLaws: LawGroup<Stores> = {
  about: "all or nothing",
  laws: [
    ...usual.flatMap(([makeScene, names]) =>
      names.map((name) =>
        lawOf(
          `${name} that is interrupted or seen at any moment is done completely or not at all`,
          [makeScene, [name]],
          isWholeAfterInterruptions,
          isWholeForReaders,
          findsShowOneMoment
        )
      )
    ),
    ...rare.flatMap(interruptions("")),
    ...large.flatMap(interruptions(" with a long queue")),
    ...sequences.map((sequence) =>
      lawOf(
        `a find during ${sequence[1].join(" and then ")} shows one moment, and the next find shows the last one`,
        sequence,
        findsShowOneMoment
      )
    )
  ]
}
