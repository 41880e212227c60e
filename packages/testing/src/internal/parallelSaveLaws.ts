/** Laws of saves at the same time, which a store may join in one statement. */
import type { Application } from "@startlist/core/Application"
import type { Outgoing } from "@startlist/core/Event"
import type { Stores } from "@startlist/core/Stores"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Law, LawGroup } from "../Law.ts"
import { alike, holds, race, same, sorted, tagOf } from "./expecting.ts"
import { poll } from "./eventLoop.ts"
import type { Fixture } from "./fixture.ts"
import { atRest, besideInterrupted, noStops, stepsOf, type Stops, sweep } from "./rounds.ts"
import { interruptAt } from "./stepping.ts"
import { storeLaw } from "./storeLaw.ts"

type What = "grants" | "registrations"

/** A new record at version 1: its saves, and the version that is stored. */
const recordOf = (what: What, f: Fixture, app: Application, owner = f.user()) =>
  Effect.gen(function*() {
    if (what === "grants") {
      const grant = yield* f.grant(app, yield* owner)
      return {
        version: Effect.map(f.findGrant(app.id, grant.userId), Option.map(({ version }) => version)),
        save: (version: number, outgoing: ReadonlyArray<Outgoing> = []) =>
          f.grants.save({ grant: { ...grant, version }, outgoing })
      }
    }
    const registration = yield* f.registration(yield* owner)
    return {
      version: Effect.map(f.registrations.find(registration.id), Option.map(({ version }) => version)),
      save: (version: number, outgoing: ReadonlyArray<Outgoing> = []) =>
        f.registrations.save({ ...registration, version }, outgoing)
    }
  })

/** Some of the saves are refused, and some have no events. */
const ownAnswers = (what: What): Law<Stores> =>
  storeLaw(`parallel saves of ${what}, some refused, each have their own answer and their own events`, function*(f) {
    const apps = yield* Effect.all([f.subscribed, f.subscribed, f.subscribed])
    // A user has grants to several applications, of which some are saved and some refused.
    const users = yield* Effect.all(Arr.makeBy(8, () => f.user()))
    const owners = [...users, ...users, ...users]
    const isRefused = (place: number) => place % 5 === 1
    const objectsOf = (place: number) => place % 4 === 3 ? [] : [place + 1, place + 101]
    const records = yield* Effect.forEach(owners, (owner, place) =>
      Effect.gen(function*() {
        const { app } = apps[place % 3] ?? (yield* f.subscribed)
        const { save, version } = yield* recordOf(what, f, app, Effect.succeed(owner))
        const outgoing = f.outgoing(app, ...f.events(objectsOf(place)))
        return { save: save(isRefused(place) ? 9 : 2, outgoing), version }
      }))
    // Not in the order of their identifiers.
    const results = [...(yield* race(records.map(({ save }) => save).reverse()))].reverse()
    same(results, owners.map((_, place) => isRefused(place) ? "Conflict" : "success"))
    const versions = yield* Effect.forEach(records, ({ version }) => version)
    same(versions, owners.map((_, place) => isRefused(place) ? 1 : 2), "the stored versions")
    for (const [remainder, { app }] of apps.entries()) {
      const places = owners.map((_, place) => place).filter((place) => place % 3 === remainder && !isRefused(place))
      const objects = yield* f.listedObjects(app)
      same(sorted(objects), sorted(places.flatMap(objectsOf)))
    }
    yield* f.cleanUp
  })

/** Every other one is refused. */
const besideOthers = (what: What): Law<Stores> =>
  storeLaw(
    `parallel saves of ${what} each have their own answer, also if others that began with them are interrupted`,
    function*(f) {
      const app = yield* f.application()
      const isRefused = (place: number) => place % 2 === 0
      yield* besideInterrupted(
        Effect.map(
          Effect.all(Arr.makeBy(9, () => recordOf(what, f, app))),
          (records) => records.map(({ save }, place) => tagOf(save(isRefused(place) ? 9 : 2)))
        ),
        (answer, place) => same(answer, isRefused(place) ? "Conflict" : "success")
      )
    }
  )

/** The second of two versions in a row is accepted only after the first. */
const successiveVersions = (what: What): Law<Stores> =>
  storeLaw(`of parallel saves of two versions of ${what} in a row, the answers tell which are stored`, function*(f) {
    const app = yield* f.application()
    const records = yield* Effect.all(Arr.makeBy(8, () => recordOf(what, f, app)))
    const order = (place: number) => place % 2 === 0 ? [2, 3] : [3, 2]
    const answers = yield* Effect.forEach(
      records,
      ({ save }, place) => race(order(place).map((version) => save(version))),
      { concurrency: "unbounded" }
    )
    for (const [place, { version }] of records.entries()) {
      const saved = order(place).filter((_, index) => answers[place]?.[index] === "success")
      same(yield* version, Option.some(Math.max(...saved)), `what is stored after ${answers[place]?.join(", ")}`)
      holds(saved.includes(2), "version 2 is stored")
    }
  })

/** Interrupts all of them together, and reads in the middle. */
const allOrNothing = (what: What): Law<Stores> =>
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
          const records = yield* Effect.all(numbers.map(() => recordOf(what, f, app)))
          /** Objects of saves that are done, and of events that are queued. */
          const seen = Effect.gen(function*() {
            const versions = yield* Effect.forEach(records, ({ version }) => version, { concurrency: "unbounded" })
            const saved = numbers.filter((_, place) => Option.contains(versions[place] ?? Option.none(), 2))
            return { saved: saved.flatMap((n) => [n, n]), queued: sorted(yield* f.listedObjects(app)) }
          })
          const saves = Effect.forEach(
            records,
            ({ save }, place) => Effect.either(save(2, f.outgoing(app, f.event(place + 1), f.event(place + 1)))),
            { concurrency: "unbounded" }
          )
          yield* run(saves, Effect.map(seen, ({ queued, saved }) => saved.filter((n) => !queued.includes(n))))
          const { queued, saved } = yield* atRest(seen, ({ queued, saved }) => alike(saved, queued))
          same(queued, saved, "objects of the events, and of what was saved")
          yield* f.cleanUp
        })
      let steps: Stops<number> = noStops
      yield* trial((saves) => Effect.map(stepsOf(saves), (all) => void (steps = all)))
      yield* sweep(steps, (step) => trial((saves) => interruptAt(saves, step)))
      for (let round = 0; round < 8; round++) {
        yield* trial((saves, notNotified) =>
          Effect.gen(function*() {
            const saving = yield* Effect.fork(saves)
            const read = Effect.map(notNotified, (objects) => same(objects, [], "what is saved without its events"))
            const reading = poll(read, () => saving.unsafePoll() !== null)
            yield* Effect.all([reading, reading], { concurrency: "unbounded" })
          })
        )
      }
    }
  )

export const parallelSaveLaws: LawGroup<Stores> = {
  about: "parallel saves",
  laws: (["grants", "registrations"] as const).flatMap((what) => [
    ownAnswers(what),
    besideOthers(what),
    successiveVersions(what),
    allOrNothing(what)
  ])
}
