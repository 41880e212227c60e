/** Laws of finds beside saves: a find sees one save or the next, whole, and never an earlier one again. */
import type { Stores } from "@startlist/core/Stores"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type { LawGroup } from "../Law.ts"
import { holds, same } from "./expecting.ts"
import type { Fixture } from "./fixture.ts"
import { plain } from "./plain.ts"
import { delivery, type Kind, type Series, versionedRecords } from "./records.ts"
import { inTheMiddle, rounds, stepsOf, sweep, whileLooking } from "./rounds.ts"
import { type Steps, storeLaw } from "./storeLaw.ts"

/** As text, whatever the order of its fields. */
const json = (value: unknown): string =>
  JSON.stringify(plain(value), (_, field: unknown) =>
    Predicate.isRecord(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => a < b ? -1 : 1))
      : field)

/** Finds while all states are written: each find gives a state that is not before the last one that was found. */
const whileWriting = function*({ finds, states, write }: Series, f: Fixture): Steps<void> {
  const texts = states.map(json)
  let written = 0
  const writing = Effect.forEach(states.slice(1), (_, place) =>
    Effect.map(write(place + 1), () => {
      written = place + 1
    }), { discard: true })
  const finding = finds(f).map((find) => {
    let last = 0
    return Effect.gen(function*() {
      const least = Math.max(last, written)
      const found = yield* find
      const place = texts.indexOf(json(found))
      if (place < 0) same(found, states[last + 1] ?? states[last], "what was found is no state that was saved")
      holds(place >= least, `save ${place} was found after save ${least} had returned or had been found`)
      last = Math.max(last, place)
    })
  })
  yield* whileLooking(writing, finding)
}

/** A find in the middle of which the next state is written gives that state, or the one before. */
const inOneFind = function*(kind: Kind<Series>, f: Fixture): Steps<void> {
  const steps = yield* Effect.forEach((yield* kind(f)).finds(f), stepsOf)
  yield* sweep(Math.max(...steps) * steps.length, (place) =>
    Effect.gen(function*() {
      const { finds, states, write } = yield* kind(f)
      const find = finds(f)[place % steps.length] ?? Effect.void
      const [found] = yield* inTheMiddle(find, Math.floor(place / steps.length), write(1))
      if (!states.slice(0, 2).map(json).includes(json(found))) {
        same(found, states[1], "what was found is no state that was saved")
      }
      yield* f.cleanUp
    }))
}

export const readLaws: LawGroup<Stores> = {
  about: "finds beside saves",
  laws: Object.entries<Kind<Series>>({ ...versionedRecords, delivery }).map(([name, kind]) =>
    storeLaw(`finds of one ${name} see each save whole, and none before the last one found`, function*(f) {
      yield* inOneFind(kind, f)
      yield* rounds(Effect.gen(function*() {
        yield* whileWriting(yield* kind(f), f)
        yield* f.cleanUp
      }))
    })
  )
}
