/** Laws of many calls at the same time, which a store may join in one statement. */
import { type Application, ApplicationId } from "@startlist/core/Application"
import type { Outgoing } from "@startlist/core/Event"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId, type StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Law, LawGroup } from "../Law.ts"
import { poll } from "./eventLoop.ts"
import { alike, count, holds, race, same, sorted, tagOf } from "./expecting.ts"
import { type Fixture, only } from "./fixture.ts"
import { parallelQueueLaws } from "./parallelQueueLaws.ts"
import { atRest, besideInterrupted, noStops, rounds, stepsOf, type Stops, sweep, together } from "./rounds.ts"
import { interruptAt } from "./stepping.ts"
import { often, storeLaw } from "./storeLaw.ts"

type What = "grants" | "registrations"

/** A record at version 1, or a grant before its first save: its stored version and mark, and its saves. */
const recordOf = (what: What, f: Fixture, app: Application, owner = f.user(), isSaved = true) =>
  Effect.gen(function*() {
    if (what === "registrations") {
      const registration = yield* f.registration(yield* owner)
      return {
        stored: Effect.map(
          f.registrations.find(registration.id),
          (found) => Option.map(found, ({ updates, version }) => [version, Number(updates.comment)])
        ),
        save: (version: number, mark: number, outgoing: ReadonlyArray<Outgoing> = []) => {
          const updates = { ...registration.updates, comment: String(mark) }
          return f.registrations.save({ ...registration, updates, version }, outgoing)
        }
      }
    }
    const grant = f.newGrant(app, yield* owner)
    if (isSaved) yield* f.grants.save(only(grant))
    return {
      stored: Effect.map(
        f.findGrant(app.id, grant.userId),
        (found) => Option.map(found, ({ generation, version }) => [version, generation])
      ),
      save: (version: number, mark: number, outgoing: ReadonlyArray<Outgoing> = []) =>
        f.grants.save({ grant: { ...grant, generation: mark, version }, outgoing })
    }
  })

/**
 * Each of 24 records is saved once to three times over its version. Some are also saved over the next version, which is
 * accepted only after the first, or over one that never is.
 */
const contested = (what: What, first: 1 | 2): Law<Stores> =>
  storeLaw(
    `of parallel ${
      first === 1 ? "first " : ""
    }saves of ${what} one over each version is stored, and each has its answer and events`,
    often(function*(f) {
      const apps = yield* Effect.all([f.subscribed, f.subscribed, f.subscribed])
      // A user has grants to several applications, of which some are saved and some refused.
      const users = yield* Effect.all(Arr.makeBy(8, () => f.user()))
      const records = yield* Effect.forEach([...users, ...users, ...users], (owner, place) =>
        Effect.gen(function*() {
          const { app } = apps[place % 3] ?? (yield* f.subscribed)
          const { save, stored } = yield* recordOf(what, f, app, Effect.succeed(owner), first === 2)
          const versions = Arr.makeBy(place % 3 + 1, () => first)
          const saves = [...versions, ...[[], [9], [first + 1]][place % 4] ?? []].map((version, mark) => {
            const objects = Arr.range(1, mark + 1).map((n) => 100 * place + 10 * mark + n)
            return { version, mark, objects, run: save(version, mark, f.outgoing(app, ...f.events(objects))) }
          })
          return { app, saves, stored }
        }))
      // Not in the order of their identifiers.
      const all = records.flatMap(({ saves }) => saves).reverse()
      const answers = yield* race(all.map(({ run }) => run))
      const accepted = ({ saves }: typeof records[number]) =>
        saves.filter((one) => answers[all.indexOf(one)] === "success").sort((a, b) => a.version - b.version)
      for (const record of records) {
        const versions = accepted(record).map(({ version }) => version)
        same(versions, [first, first + 1].slice(0, Math.max(1, versions.length)), "versions that were accepted")
        const last = accepted(record).at(-1)
        same(yield* record.stored, Option.some([last?.version, last?.mark]), "what is stored")
      }
      same(
        count(answers, "@startlist/core/Conflict"),
        all.length - records.flatMap(accepted).length,
        "number of saves refused"
      )
      for (const { app } of apps) {
        const ofApp = records.filter((record) => record.app === app).flatMap(accepted)
        const objects = sorted(ofApp.flatMap(({ objects }) => objects))
        same(sorted(yield* f.listedObjects(app)), objects, "events of the saves that were accepted")
      }
      yield* f.cleanUp
    }, { least: 1, most: 4, millis: 60 })
  )

/** Interrupts some saves together, and reads in the middle. */
const whole = (what: What): Law<Stores> =>
  storeLaw(
    `of parallel saves of ${what} that are interrupted or read, each is done with its events or not at all`,
    function*(f) {
      const numbers = Arr.range(1, 4)
      const trial = (
        run: (saves: Effect.Effect<unknown>, look: Effect.Effect<unknown, unknown>) => Effect.Effect<unknown, unknown>
      ) =>
        Effect.gen(function*() {
          const { app } = yield* f.subscribed
          const records = yield* Effect.all(numbers.map(() => recordOf(what, f, app)))
          /** Objects of saves that are done, and of events that are queued. */
          const seen = Effect.gen(function*() {
            const stored = yield* Effect.forEach(records, ({ stored }) => stored, together)
            const saved = numbers.filter((_, place) => Option.getOrNull(stored[place] ?? Option.none())?.[0] === 2)
            return { saved: saved.flatMap((n) => [n, n]), queued: sorted(yield* f.listedObjects(app)) }
          })
          const saves = records.map(({ save }, place) =>
            Effect.either(save(2, 2, f.outgoing(app, ...f.events([place + 1, place + 1]))))
          )
          const look = Effect.map(
            seen,
            ({ queued, saved }) =>
              same(saved.filter((n) => !queued.includes(n)), [], "what is saved without its events")
          )
          yield* run(Effect.all(saves, together), look)
          const { queued, saved } = yield* atRest(seen, ({ queued, saved }) => alike(saved, queued))
          same(queued, saved, "objects of the events, and of what was saved")
          yield* f.cleanUp
        })
      let steps: Stops<number> = noStops
      yield* trial((saves) => Effect.map(stepsOf(saves), (all) => void (steps = all)))
      yield* sweep(steps, (step) => trial((saves) => interruptAt(saves, step)))
      yield* rounds(() =>
        trial((saves, look) =>
          Effect.flatMap(Effect.fork(saves), (saving) => {
            const looking = poll(look, () => saving.unsafePoll() !== null)
            return Effect.all([looking, looking], together)
          })
        )
      )
    }
  )

/** Every other save is refused. */
const besideOthers = (what: What): Law<Stores> =>
  storeLaw(`parallel saves of ${what} have their own answers, also if others with them are interrupted`, function*(f) {
    const app = yield* f.application()
    const isRefused = (place: number) => place % 2 === 0
    const records = Effect.all(Arr.makeBy(9, () => recordOf(what, f, app)))
    yield* besideInterrupted(
      Effect.map(records, (all) => all.map(({ save }, place) => tagOf(save(isRefused(place) ? 9 : 2, 1)))),
      (answer, place) => same(answer, isRefused(place) ? "@startlist/core/Conflict" : "success")
    )
  })

type Find = readonly [find: Effect.Effect<unknown, StoreError>, record: unknown]

const finds = storeLaw(
  "parallel finds each get their own answer, also if others that began with them are interrupted",
  function*(f) {
    const owner = yield* f.user()
    const made = yield* Effect.forEach(Arr.range(1, 8), () =>
      Effect.gen(function*() {
        const { app, subscription } = yield* f.subscribed
        const registration = yield* f.registration(owner)
        const all: ReadonlyArray<Find> = [
          [f.applications.find(app.id), app],
          [f.applications.findSigningSecrets(app.id), yield* f.signingSecrets(app)],
          [f.subscriptions.findByApplication(app.id), subscription],
          [f.registrations.find(registration.id), registration],
          [f.findGrant(app.id, owner.id), yield* f.grant(app, owner)]
        ]
        return all
      }))
    const no = ApplicationId.make(maxId)
    const unknown = [
      f.applications.find(no),
      f.applications.findSigningSecrets(no),
      f.subscriptions.findByApplication(no),
      f.registrations.find(RegistrationId.make(maxId)),
      f.findGrant(no, owner.id)
    ].map((find): Find => [find, null])
    const known = made.reverse().flat()
    for (const all of [known, [...known, ...unknown, ...known]]) {
      same(yield* Effect.all(all.map(([find]) => find), together), all.map(([, record]) => record))
    }
    const contenders = Effect.succeed(known.map(([find]) => find))
    yield* besideInterrupted(contenders, (found, place) => same(found, known[place]?.[1]))
    yield* f.cleanUp
  }
)

/** Saves in turn of two records that one find returns, and finds at the same time. */
const moments: Law<Stores> = storeLaw(
  "a find shows an application and a grant at one moment, and no earlier one than the last save that had returned",
  function*(f) {
    const app = yield* f.application()
    const grant = yield* f.grant(app, yield* f.user())
    let saved = 0
    const save = Effect.gen(function*() {
      const n = saved + 1
      yield* f.applications.save({ ...app, epoch: n, version: n + 1 })
      yield* f.grants.save(only({ ...grant, generation: n, version: n + 1 }))
      saved = n
    })
    const saving = yield* Effect.fork(rounds(() => save, { least: 30, most: 300, millis: 200 }))
    const find = Effect.gen(function*() {
      const before = saved
      const found = Option.getOrThrow(yield* f.grants.find(app.id, grant.userId))
      const [first, then] = [found.application.epoch, found.grant.generation]
      holds(then >= before, `generation ${then} is found after generation ${before} was saved`)
      holds(first - then === 0 || first - then === 1, `epoch ${first} and generation ${then} were stored together`)
    })
    const finding = poll(find, () => saving.unsafePoll() !== null)
    yield* Effect.all([saving, finding, finding, finding], together)
  }
)

export const parallelLaws: LawGroup<Stores> = {
  about: "at the same time",
  laws: [
    contested("grants", 1),
    contested("grants", 2),
    contested("registrations", 2),
    ...[whole, besideOthers].flatMap((law) => [law("grants"), law("registrations")]),
    storeLaw("of parallel saves of any other record over one version one is stored", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const secrets = yield* f.signingSecrets(app)
      for (const version of Arr.range(2, 7)) {
        const saves = {
          applications: f.applications.save({ ...app, version }),
          "signing secrets": f.applications.saveSigningSecrets({ ...secrets, version }),
          subscriptions: f.subscriptions.save({ ...subscription, version })
        }
        for (const [what, save] of Object.entries(saves)) {
          const results = yield* race(Arr.makeBy(8, () => save))
          same([count(results, "success"), count(results, "@startlist/core/Conflict")], [1, 7], `saves of ${what}`)
        }
      }
      yield* f.cleanUp
    }),
    storeLaw("identifiers that are given at the same time are different", function*(f) {
      const apps = yield* Effect.all(Arr.makeBy(8, () => f.application()), together)
      const subscriptions = yield* Effect.forEach(apps, (app) => f.subscription(app), together)
      const registrations = yield* Effect.forEach(
        apps,
        () => Effect.flatMap(f.user(), (one) => f.registration(one)),
        together
      )
      for (const made of [apps, subscriptions, registrations]) {
        same(new Set(made.map(({ id }) => Number(id))).size, apps.length)
      }
      yield* f.cleanUp
    }),
    moments,
    finds,
    ...parallelQueueLaws
  ]
}
