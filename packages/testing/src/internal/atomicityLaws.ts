/** Laws of operations that are interrupted or observed: each takes effect at one moment. */
import type { Stores } from "@startlist/core/Stores"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { map } from "effect/Record"
import { type Law, law, type LawGroup } from "../Law.ts"
import { holds, same, sorted } from "./expecting.ts"
import { following } from "./fixture.ts"
import { atOnce, interrupted, inTheMiddle, rounds, stepsOf, type Stops, sweep } from "./rounds.ts"
import * as scenes from "./scenes.ts"
import {
  alone,
  asText,
  type Handles,
  look,
  type MakeScene,
  oneOf,
  pick,
  type Seen,
  type Stage,
  staged
} from "./stage.ts"
import { interruptAt } from "./stepping.ts"
import { storeLaw } from "./storeLaw.ts"

type Operations = ReadonlyArray<readonly [MakeScene, ReadonlyArray<string>]>

/** Operations that write several records, or one record that several finds return. */
const usual: Operations = [
  [scenes.records, [
    "a save of a grant",
    "a first save of a grant",
    "a revocation",
    "a revocation of all grants",
    "a save of a registration",
    "a save of an application",
    "a save of signing secrets",
    "a save of a subscription",
    "a first insertion of a subscription",
    "an insertion of an application",
    "enqueueing several events"
  ]],
  [scenes.queue, [
    "a removal of a subscription",
    "settling several deliveries",
    "releasing several claims",
    "a delivery again",
    "a cancellation"
  ]]
]

/** Operations that write one record, which a store may write in parts in some states. */
const rare: Operations = [
  [scenes.records, ["an insertion of a registration", "the end of the application", "a pause"]],
  [scenes.after(scenes.records, "a pause"), ["a resumption"]],
  [
    scenes.after(scenes.records, "enqueueing several events", "a removal of a subscription"),
    ["an insertion of a subscription"]
  ],
  [scenes.queue, ["a settlement", "a release"]]
]

/** Operations on one record or a few, which are interrupted at each step and seen by another handle. */
export const operations: Operations = [...usual, ...rare]

/** Operations that write many records. */
const large = [
  "a removal of a subscription",
  "a cancellation",
  "settling all deliveries",
  "enqueueing many events",
  "a purge"
]

/**
 * Runs an operation alone, once and twice. Returns the state before and after it, what is then claimed, its steps and its
 * duration.
 */
const rehearsed = (makeScene: MakeScene, name: string, handles: Handles) =>
  Effect.gen(function*() {
    const stage = yield* staged(makeScene, handles)
    const [f] = stage.handles
    const before = yield* look(stage, f)
    const began = yield* Clock.currentTimeMillis
    const steps = yield* stepsOf(stage.run(name, f))
    const millis = (yield* Clock.currentTimeMillis) - began
    const after = yield* look(stage, f)
    same(yield* look(stage, f), after, "what a second look finds")
    const once = yield* stage.rest
    yield* stage.cleanUp
    const second = yield* staged(makeScene, handles)
    yield* second.run(name, f)
    yield* second.run(name, f)
    const claimed = { "one of it": { claimed: once }, "two of it": { claimed: yield* second.rest } }
    yield* second.cleanUp
    const changed = Object.keys(before).filter((part) => asText(before[part]) !== asText(after[part]))
    holds(changed.length > 0, `${name} changes something`)
    // In the middle of an operation, the log may show what it does not show afterwards.
    if ("log" in before && !changed.includes("log")) changed.push("log")
    return { before: pick(before, changed), after: pick(after, changed), changed, claimed, steps, millis }
  })

/** Looks again while a database completes a statement whose caller was interrupted. */
const atRest = <A, E>(seen: Effect.Effect<A, E>, isWhole: (seen: A) => boolean, left = 20): Effect.Effect<A, E> =>
  Effect.flatMap(seen, (found) =>
    left === 0 || isWhole(found)
      ? Effect.succeed(found)
      : Effect.delay(Effect.suspend(() => atRest(seen, isWhole, left - 1)), 50))

const interruption = (makeScene: MakeScene, name: string, where = ""): Law<Stores> =>
  law(
    `${name}${where} that is interrupted at any moment is done completely or not at all`,
    () =>
      Effect.gen(function*() {
        const handles = yield* alone
        const { after, before, changed, claimed, millis, steps } = yield* rehearsed(makeScene, name, handles)
        const isWhole = (seen: Seen) => [before, after].some((one) => asText(one) === asText(seen))
        const trial = (interrupt: (operation: Effect.Effect<unknown>) => Effect.Effect<unknown>) =>
          Effect.gen(function*() {
            const stage = yield* staged(makeScene, handles)
            const [f] = stage.handles
            yield* interrupt(stage.run(name, f))
            const seen = yield* atRest(look(stage, f, changed), isWhole)
            oneOf(seen, { "before it": before, "after it": after }, "what is there after an interruption")
            // It can be done again, unless the database has completed it since.
            const isRefused = typeof (yield* stage.run(name, f)) === "string"
            if (isRefused) same(yield* look(stage, f, changed), after, "what is there when it is refused afterwards")
            oneOf({ claimed: yield* stage.rest }, claimed, "what is claimed when it was done again")
            yield* stage.cleanUp
          })
        yield* sweep(steps, (step) => trial((operation) => interruptAt(operation, step)))
        yield* rounds(() => trial((operation) => interrupted(operation, millis)))
      })
  )

/** Saves at the same time, which a store may join in one statement. */
const together = (what: "grants" | "registrations"): Law<Stores> =>
  storeLaw(
    `of parallel saves of ${what} that are interrupted or read at any moment, each is done with its events or not at all`,
    function*(f) {
      const numbers = Arr.range(1, 4)
      const trial = (
        run: (
          saves: Effect.Effect<unknown>,
          notNotified: Effect.Effect<ReadonlyArray<number>, unknown>
        ) => Effect.Effect<unknown, unknown>
      ) =>
        Effect.gen(function*() {
          const { app } = yield* f.subscribed
          const records = yield* Effect.forEach(numbers, (n) =>
            Effect.gen(function*() {
              const [owner, outgoing] = [yield* f.user(), f.outgoing(app, f.event(n), f.event(n))]
              if (what === "registrations") {
                const registration = yield* f.registration(owner)
                const found = Effect.map(f.registrations.find(registration.id), Option.map(({ version }) => version))
                return { found, save: f.registrations.save({ ...registration, version: 2 }, outgoing) }
              }
              const grant = yield* f.grant(app, owner)
              const found = Effect.map(f.findGrant(app.id, owner.id), Option.map(({ version }) => version))
              return { found, save: f.grants.save({ grant: following(grant), outgoing }) }
            }))
          /** Objects of saves that are done, and of events that are queued. */
          const seen = Effect.gen(function*() {
            const versions = yield* Effect.forEach(records, ({ found }) => found, { concurrency: "unbounded" })
            const saved = numbers.filter((_, place) => Option.contains(versions[place] ?? Option.none(), 2))
            return { saved: saved.flatMap((n) => [n, n]), queued: sorted(yield* f.listedObjects(app)) }
          })
          const saves = Effect.all(records.map(({ save }) => Effect.either(save)), { concurrency: "unbounded" })
          yield* run(saves, Effect.map(seen, ({ queued, saved }) => saved.filter((n) => !queued.includes(n))))
          const { queued, saved } = yield* atRest(seen, ({ queued, saved }) => asText(saved) === asText(queued))
          same(queued, saved, "objects of the events, and of what was saved")
          yield* f.cleanUp
        })
      let steps: Stops<number> = { order: [], least: 0 }
      yield* trial((saves) => Effect.map(stepsOf(saves), (all) => void (steps = all)))
      yield* sweep(steps, (step) => trial((saves) => interruptAt(saves, step)))
      for (let round = 0; round < 8; round++) {
        yield* trial((saves, notNotified) =>
          Effect.gen(function*() {
            const saving = yield* Effect.fork(saves)
            const isDone = Effect.map(Fiber.poll(saving), Option.isSome)
            const read = Effect.map(notNotified, (objects) => same(objects, [], "what is saved without its events"))
            const reading = Effect.repeat(Effect.zipRight(Effect.yieldNow(), read), { until: () => isDone })
            yield* Effect.all([reading, reading], { concurrency: "unbounded" })
          })
        )
      }
    }
  )

/** Stops finds at each of their steps, while operations happen. Each shows one moment, and the next finds show the last. */
const findsDuring = (makeScene: MakeScene, names: ReadonlyArray<string>, handles: Handles) =>
  Effect.gen(function*() {
    const first = yield* staged(makeScene, handles)
    const [f] = first.handles
    const moments = [yield* look(first, f)]
    for (const name of names) {
      yield* first.run(name, f)
      moments.push(yield* look(first, f))
    }
    const [before, after] = [moments[0] ?? {}, moments.at(-1) ?? {}]
    const changed = Object.keys(before).filter((part) => asText(before[part]) !== asText(after[part]))
    const steps = Object.values(yield* Effect.all(map(first.parts(f, changed), stepsOf)))
    yield* first.cleanUp
    const most = Math.max(...steps.map(({ order }) => order.length))
    const least = Math.max(...steps.map(({ least }) => least))
    yield* sweep({ order: Arr.range(0, most - 1), least }, (place) =>
      Effect.gen(function*() {
        const stage = yield* staged(makeScene, handles)
        const [by] = stage.handles
        const finds = Object.values(stage.parts(by, changed)).map((find, part) =>
          [find, steps[part]?.order[place] ?? place] as const
        )
        const all = Effect.zipRight(Effect.forEach(names, (name) => stage.run(name, by)), look(stage, by, changed))
        const [found, next] = yield* inTheMiddle(finds, all)
        same(next, pick(after, changed), "what the next finds show")
        for (const [place, part] of changed.entries()) {
          const known = moments.map((seen, count) => [`the state after ${count} of it`, pick(seen, [part])] as const)
          oneOf({ [part]: found[place] }, Object.fromEntries(known), "what a find shows")
        }
        yield* stage.cleanUp
      }))
  })

const observation = (makeScene: MakeScene, name: string): Law<Stores> =>
  law(`a reader that sees a part of ${name} sees all of it from then on`, () =>
    Effect.gen(function*() {
      const handles = yield* alone
      const { after, before, changed, steps } = yield* rehearsed(makeScene, name, handles)
      const trial = (beside: (stage: Stage, operation: Effect.Effect<unknown>) => Effect.Effect<unknown, unknown>) =>
        Effect.gen(function*() {
          const stage = yield* staged(makeScene, handles)
          yield* beside(stage, stage.run(name, stage.handles[0]))
          same(yield* look(stage, stage.handles[0], changed), after, "what is there when it is done")
          yield* stage.cleanUp
        })
      const looking = (stage: Stage) =>
        Effect.gen(function*() {
          const seen = yield* look(stage, stage.handles[0], changed)
          const isSeen = changed.some((part) => asText(seen[part]) !== asText(before[part]))
          if (isSeen) same(yield* look(stage, stage.handles[0], changed), after, "what is there when a part was seen")
        })
      yield* sweep(steps, (step) => trial((stage, operation) => inTheMiddle([[operation, step]], looking(stage))))
      yield* rounds(() => trial((stage, operation) => atOnce([operation, looking(stage), looking(stage)])))
      yield* findsDuring(makeScene, [name], handles)
    }))

/** Operations on records that one find returns together. */
const sequences: ReadonlyArray<readonly [MakeScene, ReadonlyArray<string>]> = [
  [scenes.records, ["a save of an application", "a save of a grant"]],
  [scenes.records, ["a save of a grant", "a save of an application"]],
  [scenes.records, ["a save of a grant", "a save of a grant to another application"]],
  [scenes.records, [
    "a save of a grant to another application",
    "a revocation of all grants",
    "a renewal of a grant"
  ]],
  [scenes.lists, ["a revocation of all grants", "a renewal of a grant"]],
  [scenes.lists, ["the end of the application"]],
  [scenes.queue, ["a settlement", "the next events of an object"]],
  [scenes.pages, ["a settlement", "a settlement of a later delivery"]]
]

const momentary = (makeScene: MakeScene, names: ReadonlyArray<string>): Law<Stores> =>
  law(
    `a find during ${names.join(" and then ")} shows one moment, and the next find shows the last one`,
    () => Effect.flatMap(alone, (handles) => findsDuring(makeScene, names, handles))
  )

export const atomicityLaws: LawGroup<Stores> = {
  about: "all or nothing",
  laws: [
    ...operations.flatMap(([makeScene, names]) => names.map((name) => interruption(makeScene, name))),
    ...usual.flatMap(([makeScene, names]) => names.map((name) => observation(makeScene, name))),
    together("grants"),
    together("registrations"),
    ...large.map((name) => interruption(scenes.backlog, name, " with a long queue")),
    ...sequences.map(([makeScene, names]) => momentary(makeScene, names))
  ]
}
