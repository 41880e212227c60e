/** Laws of many calls at the same time, which a store may join in one statement. */
import { type Application, ApplicationId } from "@startlist/core/Application"
import type { Delivery, LogEntry } from "@startlist/core/Delivery"
import type { Claimed } from "@startlist/core/DeliveryQueue"
import type { Outgoing } from "@startlist/core/Event"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId, type StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Option from "effect/Option"
import type { Law, LawGroup } from "../Suite.ts"
import { poll } from "./eventLoop.ts"
import { alike, count, holds, race, same, sorted, tagOf } from "./expecting.ts"
import { at, type Fixture, only } from "./fixture.ts"
import { atRest, besideInterrupted, noStops, rounds, stepsOf, type Stops, sweep, together } from "./rounds.ts"
import { interruptAt } from "./stepping.ts"
import { often, queueLaw, storeLaw } from "./storeLaw.ts"

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
    `of parallel saves of ${what} over version ${first - 1}, one is stored, and each has its answer and events`,
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
      const refused = all.length - records.flatMap(accepted).length
      same(count(answers, "@startlist/core/Conflict"), refused, "number of saves refused")
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

/** Another call beside many settlements of an application. */
const duringSettlements = (name: "a cancellation" | "a removal" | "claims" | "the next events"): Law<Stores> =>
  queueLaw(
    `${name} during many settlements: each delivery has what their answers say, and none is lost`,
    often(function*(f, round) {
      const { app, subscription } = yield* f.subscribed
      const enqueue = f.enqueue(app, f.events(Arr.range(1, 30)))
      yield* enqueue
      const held = yield* f.claim()
      const claimLater = f.claimAt(15)
      const taken: Array<Claimed> = []
      const other: Effect.Effect<unknown, StoreError> = {
        // Usually of as many as there are: a store may then look no further.
        "a cancellation": f.deliveryQueue.cancel(app.id, at(1), round % 4 === 0 ? 1000 : 30),
        "a removal": f.subscriptions.remove(subscription.id, at(1)),
        "claims": Effect.map(Effect.all([claimLater, claimLater, claimLater], together), (all) => {
          taken.push(...all.flat())
        }),
        "the next events": enqueue
      }[name]
      // Half of them in one call, and each of the others in a call of its own. In some rounds they are tried again.
      const isFinal = round % 4 < 2
      const fields = isFinal ? undefined : { dueAt: at(9) }
      const settlements = [f.settle(held.slice(15), fields), ...held.slice(0, 15).map((one) => f.settle([one], fields))]
      const settled = Effect.map(Effect.all(settlements, together), (ids) => sorted(ids.flat()))
      const both = round % 2 === 0 ? { answer: other, recorded: settled } : { recorded: settled, answer: other }
      const { answer, recorded } = yield* Effect.all(both, together)
      const found = yield* f.listed(app)
      const ids = (isWanted: (one: Delivery) => boolean) => found.filter(isWanted).map(({ id }) => id)
      const pending = ids(({ state }) => state === "pending")
      const changed = ids(({ dueAt, state }) => isFinal ? state === "delivered" : Equal.equals(dueAt, at(9)))
      same(changed, recorded, "what is recorded")
      if (name === "a cancellation") same(ids(({ state }) => state === "cancelled").length, answer, "what is cancelled")
      if (name === "a removal") same([answer, pending], [true, []], "what outlives a removal")
      if (name === "claims") {
        // A claim skips what another call has locked.
        const all = [...taken, ...yield* claimLater].map(({ delivery }) => delivery).sort((a, b) => a.id - b.id)
        same(all, found.filter(({ state }) => state === "pending"), "what is claimed, each once, as it is")
      }
      const left = [yield* Effect.flatMap(f.claimAt(40), f.settle), yield* Effect.flatMap(f.claimAt(60), f.settle)]
      same(sorted(left.flat()), pending, "what is claimed in the end")
      yield* f.cleanUp
    })
  )

/** A reader of the log of an application. Each read continues from the last position. */
export const reader = (f: Fixture, { id: applicationId }: Pick<Application, "id">) => {
  const seen: Array<LogEntry> = []
  return {
    seen,
    /** Reads the next page. Returns its entries. */
    read: (limit: number) =>
      Effect.map(
        Effect.suspend(() => f.deliveries.log({ applicationId, after: seen.at(-1)?.position ?? 0, limit })),
        (page) => {
          seen.push(...page)
          return page
        }
      )
  }
}

const readers = queueLaw(
  "readers miss nothing of saves that overlap, see nothing twice, and see it in one order, also if they race each other",
  function*(f) {
    const { app } = yield* f.subscribed
    const [one, two] = [reader(f, app), reader(f, app)]
    let saved = 0
    const numbered = (length: number) => Array.from({ length }, () => f.event(++saved + 10))
    const save = (length: number) => Effect.suspend(() => f.enqueue(app, numbered(length)))
    // Events about one object, in order.
    const change = (object: number) => Effect.suspend(() => f.queue(app, [f.event(object), f.event(object)]))
    const work = Effect.flatMap(f.claim({ limit: 20 }), (found) => f.settle(found))
    yield* rounds(() =>
      Effect.gen(function*() {
        // Short saves begin and end while long ones go on.
        const saves = [save(150), save(150), Effect.repeatN(save(1), 9), change(1), change(2), work, work]
        const saving = yield* Effect.fork(Effect.all(saves, together))
        const isDone = () => saving.unsafePoll() !== null
        yield* Effect.all([poll(one.read(1000), isDone), poll(two.read(100), isDone)], together)
        yield* saving
        for (const { read } of [one, two]) yield* Effect.repeat(read(100), { until: (page) => page.length === 0 })
      }), { least: 3, most: 12, millis: 500 })
    const order = ({ seen }: typeof one) => seen.map(({ delivery }) => delivery.id)
    const late = reader(f, app)
    yield* Effect.repeat(late.read(100), { until: (page) => page.length === 0 })
    const all = (yield* f.listed(app)).map(({ id }) => id)
    for (const early of [one, two]) {
      same(sorted(order(early)), all, "what a reader saw")
      same(order(early), order(late), "what a later reader saw, in its order")
    }
    for (const object of [1, 2]) {
      const ids = order({ ...one, seen: one.seen.filter(({ delivery }) => delivery.event.objectId === object) })
      same(ids, sorted(ids), `order of the events about object ${object}`)
    }
    yield* f.cleanUp
  }
)

export const parallelLaws: LawGroup<Stores> = {
  about: "at the same time",
  laws: [
    contested("grants", 1),
    contested("grants", 2),
    contested("registrations", 2),
    ...[whole, besideOthers].flatMap((law) => [law("grants"), law("registrations")]),
    storeLaw("identifiers that are given at the same time are different", function*(f) {
      const apps = yield* Effect.all(Arr.makeBy(8, () => f.application()), together)
      const subscriptions = yield* Effect.forEach(apps, (app) => f.subscription(app), together)
      const owner = yield* f.user()
      const registrations = yield* Effect.all(apps.map(() => f.registration(owner)), together)
      for (const made of [apps, subscriptions, registrations]) {
        same(new Set(made.map(({ id }) => Number(id))).size, apps.length)
      }
      yield* f.cleanUp
    }),
    moments,
    finds,
    queueLaw("parallel claims get each delivery once", function*(f) {
      const { app } = yield* f.subscribed
      const objects = Arr.range(1, 24)
      yield* f.enqueue(app, f.events(objects))
      for (const round of Arr.range(1, 8)) {
        const claim = f.claimAt(20 * round)
        const claims = yield* Effect.all(Arr.makeBy(8, () => claim), together)
        // A claim skips what another one has locked.
        const claimed = [...claims.flat(), ...yield* claim]
        const counts = claimed.map(({ claims, delivery }) => [delivery.event.objectId, claims] as const)
        same(counts.sort(([a], [b]) => a - b), objects.map((object) => [object, round]), `round ${round}`)
      }
      yield* f.cleanUp
    }),
    ...(["a cancellation", "a removal", "claims", "the next events"] as const).map(duringSettlements),
    readers
  ]
}
