/** Laws of many calls at the same time. */
import { type Application, ApplicationId } from "@startlist/core/Application"
import type { LogEntry } from "@startlist/core/Delivery"
import type { Grant } from "@startlist/core/Grant"
import type { Claimed } from "@startlist/core/DeliveryQueue"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId, type StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { Law, LawGroup } from "../Law.ts"
import { count, holds, race, same, sorted } from "./expecting.ts"
import { at, type Fixture, following, objectsOf, only, start } from "./fixture.ts"
import { poll } from "./eventLoop.ts"
import { besideInterrupted } from "./rounds.ts"
import { queueLaw, storeLaw } from "./storeLaw.ts"

/** Each object and the number of its claim, by object. */
const counts = (claimed: ReadonlyArray<Claimed>): ReadonlyArray<readonly [object: number, claims: number]> =>
  claimed.map(({ claims, delivery }) => [delivery.event.objectId, claims] as const).sort(([a], [b]) => a - b)

/** Saves each of these grants once to three times at the same time, each time with other events. */
const oneOfEach = (f: Fixture, app: Application, grants: ReadonlyArray<Grant>) =>
  Effect.gen(function*() {
    const saves = grants.flatMap((grant, place) =>
      Array.from({ length: place % 3 + 1 }, (_, generation) => ({ ...grant, generation }))
    )
    const eventsOf = ({ generation, userId }: Grant) => Array.from({ length: generation }, () => f.event(userId))
    const results = yield* race(
      saves.map((grant) => f.grants.save({ grant, outgoing: f.outgoing(app, ...eventsOf(grant)) }))
    )
    const saved = saves.filter((_, place) => results[place] === "success")
    same(saved.map(({ userId }) => userId), grants.map(({ userId }) => userId), "owners of the grants that were saved")
    same(count(results, "Conflict"), saves.length - saved.length, "number of saves that were refused")
    for (const grant of saved) same(yield* f.findGrant(app.id, grant.userId), grant)
    const objects = saved.flatMap(({ generation, userId }) => Array.from({ length: generation }, () => Number(userId)))
    same(sorted(yield* f.listedObjects(app)), sorted(objects), "events of the grants that were saved")
  })

type Find = readonly [find: Effect.Effect<unknown, StoreError>, record: unknown]

/** A find of each record of some applications, newest application first. */
const findsOfRecords = (f: Fixture, applications: number): Effect.Effect<ReadonlyArray<Find>, unknown> =>
  Effect.gen(function*() {
    const owner = yield* f.user()
    const all: Array<ReadonlyArray<Find>> = []
    for (let made = 0; made < applications; made++) {
      const { app, subscription } = yield* f.subscribed
      const registration = yield* f.registration(owner)
      all.push([
        [f.applications.find(app.id), app],
        [f.applications.findSigningSecrets(app.id), yield* f.signingSecrets(app)],
        [f.subscriptions.findByApplication(app.id), subscription],
        [f.registrations.find(registration.id), registration],
        [f.findGrant(app.id, owner.id), yield* f.grant(app, owner)]
      ])
    }
    return all.reverse().flat()
  })

/** Saves in turn of two records that one find returns, and finds at the same time. */
const moments: Law<Stores> = storeLaw(
  "a find shows an application and a grant at one moment, and no earlier one than the last save that had returned",
  function*(f) {
    const app = yield* f.application()
    const grant = yield* f.grant(app, yield* f.user())
    const ends = (yield* Clock.currentTimeMillis) + 200
    let saved = 0
    let isDone = false
    const saving = Effect.gen(function*() {
      for (let n = 1; n <= 300 && (n <= 30 || (yield* Clock.currentTimeMillis) < ends); n++) {
        yield* f.applications.save({ ...app, epoch: n, version: n + 1 })
        yield* f.grants.save(only({ ...grant, generation: n, version: n + 1 }))
        saved = n
      }
      isDone = true
    })
    const find = Effect.gen(function*() {
      const before = saved
      const found = Option.getOrThrow(yield* f.grants.find(app.id, grant.userId))
      const [first, then] = [found.application.epoch, found.grant.generation]
      holds(then >= before, `generation ${then} is found after generation ${before} was saved`)
      holds(first - then === 0 || first - then === 1, `epoch ${first} and generation ${then} were stored together`)
    })
    const finding = poll(find, () => isDone)
    yield* Effect.all([saving, finding, finding, finding], { concurrency: "unbounded" })
  }
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

export const parallelLaws: LawGroup<Stores> = {
  about: "at the same time",
  laws: [
    storeLaw("of parallel first saves of a grant one is stored, with its events", function*(f) {
      for (let round = 0; round < 6; round++) {
        const { app } = yield* f.subscribed
        const owners = yield* Effect.all(Array.from({ length: 12 }, () => f.user()))
        yield* oneOfEach(f, app, owners.map((owner) => f.newGrant(app, owner)))
        yield* f.cleanUp
      }
    }),
    storeLaw("of parallel saves of a grant over one version one is stored, with its events", function*(f) {
      const { app } = yield* f.subscribed
      const firsts = yield* Effect.forEach(
        Array.from({ length: 12 }),
        () => Effect.flatMap(f.user(), (owner) => f.grant(app, owner))
      )
      yield* oneOfEach(f, app, firsts.map((first) => following(first)))
      yield* f.cleanUp
    }),
    storeLaw("of parallel saves of any other record over one version one is stored", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const registration = yield* f.registration(yield* f.user())
      const secrets = yield* f.signingSecrets(app)
      for (const version of Arr.range(2, 11)) {
        const saves = {
          applications: f.applications.save({ ...app, version }),
          "signing secrets": f.applications.saveSigningSecrets({ ...secrets, version }),
          subscriptions: f.subscriptions.save({ ...subscription, version }),
          registrations: f.registrations.save({ ...registration, version }, [])
        }
        for (const [what, save] of Object.entries(saves)) {
          const results = yield* race(Arr.makeBy(8, () => save))
          same([count(results, "success"), count(results, "Conflict")], [1, 7], `saves of ${what}`)
        }
      }
      yield* f.cleanUp
    }),
    moments,
    storeLaw(
      "parallel finds each get their own answer, also if others that began with them are interrupted",
      function*(f) {
        const known = yield* findsOfRecords(f, 8)
        const no = { application: ApplicationId.make(maxId), registration: RegistrationId.make(maxId) }
        const unknown: ReadonlyArray<Find> = [
          f.applications.find(no.application),
          f.applications.findSigningSecrets(no.application),
          f.subscriptions.findByApplication(no.application),
          f.registrations.find(no.registration),
          f.findGrant(no.application, (yield* f.user()).id)
        ].map((find) => [find, null])
        for (const finds of [known, [...known, ...unknown, ...known]]) {
          const found = yield* Effect.all(finds.map(([find]) => find), { concurrency: "unbounded" })
          same(found, finds.map(([, record]) => record))
        }
        yield* besideInterrupted(
          Effect.succeed(known.map(([find]) => find)),
          (found, place) => same(found, known[place]?.[1])
        )
        yield* f.cleanUp
      }
    ),
    storeLaw("identifiers that are given at the same time are different", function*(f) {
      const apps = yield* Effect.all(Array.from({ length: 8 }, () => f.application()), { concurrency: "unbounded" })
      const athlete = yield* f.user()
      const all = { concurrency: "unbounded" } as const
      for (
        const made of [
          apps,
          yield* Effect.forEach(apps, (app) => f.subscription(app), all),
          yield* Effect.forEach(apps, () => f.registration(athlete), all)
        ]
      ) same(new Set(made.map(({ id }) => Number(id))).size, apps.length)
      yield* f.cleanUp
    }),
    storeLaw("of events that are queued while their subscription is removed, none stays pending", function*(f) {
      for (let round = 0; round < 6; round++) {
        const { app, subscription } = yield* f.subscribed
        const queueing = f.enqueue(app, f.events(Arr.range(1, 100)))
        const removing = Effect.delay(f.subscriptions.remove(subscription.id, start), round)
        yield* Effect.all([queueing, removing], { concurrency: 2 })
        same((yield* f.listed(app)).filter(({ state }) => state !== "cancelled"), [])
      }
    }),
    queueLaw("parallel claims get each delivery once", function*(f) {
      const { app } = yield* f.subscribed
      const objects = Arr.range(1, 24)
      yield* f.queue(app, f.events(objects))
      for (const round of Arr.range(1, 8)) {
        const claim = f.claimAt(20 * round)
        const claims = yield* Effect.all(Array.from({ length: 8 }, () => claim), { concurrency: "unbounded" })
        // A claim skips what another one has locked.
        const claimed = [...claims.flat(), ...yield* claim]
        same(counts(claimed), objects.map((object) => [object, round]), `round ${round}`)
      }
    }),
    queueLaw("an event that is queued while the one before it ends is the next one of its object", function*(f) {
      const { app } = yield* f.subscribed
      const enqueue = f.enqueue(app, f.events([1, 2, 3, 4, 5]))
      yield* enqueue
      for (let round = 0; round < 24; round++) {
        const claimed = yield* f.claimAt(20 * round)
        const objects = objectsOf(claimed)
        same(sorted(objects), [1, 2, 3, 4, 5], `round ${round}`)
        const both = [Effect.asVoid(f.settle(claimed)), Effect.asVoid(enqueue)]
        yield* Effect.all(round % 2 === 0 ? both : both.reverse(), { concurrency: 2 })
      }
    }),
    queueLaw(
      "an event that is queued while those before it are cancelled is delivered, or cancelled too",
      function*(f) {
        const { app } = yield* f.subscribed
        const objects = Arr.range(1, 20)
        const enqueue = f.enqueue(app, f.events(objects))
        for (let round = 0; round < 24; round++) {
          yield* enqueue
          // Usually of as many as there are: a store may then look no further.
          const limit = round % 4 === 0 ? 1000 : objects.length
          const both = [Effect.asVoid(f.deliveryQueue.cancel(app.id, at(1), limit)), Effect.asVoid(enqueue)]
          yield* Effect.all(round % 2 === 0 ? both : both.reverse(), { concurrency: 2 })
          const pending = (yield* f.listed(app)).filter(({ state }) => state === "pending")
          const claimed = yield* f.claimAt(20 * round)
          same(new Set(objectsOf(claimed)), new Set(pending.map(({ event }) => event.objectId)), `round ${round}`)
          yield* f.settle(claimed)
        }
      }
    ),
    ...(["cancellation", "removal"] as const).map((other) =>
      queueLaw(`of a settlement and a ${other} at the same time, each delivery has one`, function*(f) {
        let { app, subscription } = yield* f.subscribed
        const objects = Arr.range(1, 30)
        for (let round = 0; round < 10; round++) {
          yield* f.enqueue(app, f.events(objects))
          const claimed = yield* f.claim()
          const { answer, recorded } = yield* Effect.all({
            recorded: f.settle(claimed),
            answer: other === "removal"
              ? f.subscriptions.remove(subscription.id, at(1))
              : f.deliveryQueue.cancel(app.id, at(1), 1000)
          }, { concurrency: 2 })
          const isRecorded = new Set(recorded)
          const states = claimed.map(({ delivery }) => isRecorded.has(delivery.id) ? "delivered" : "cancelled")
          same((yield* f.listed(app)).slice(-claimed.length).map(({ state }) => state), states, `round ${round}`)
          same(answer, other === "removal" || objects.length - recorded.length, `what the ${other} returns`)
          if (other === "removal") subscription = yield* f.subscription(app)
        }
      })
    ),
    queueLaw("of a settlement and a claim after its lease at the same time, each delivery has one", function*(f) {
      const { app } = yield* f.subscribed
      for (let round = 0; round < 10; round++) {
        yield* f.enqueue(app, f.events(Arr.range(1, 30)))
        const claimed = yield* f.claim()
        const [claim, settle] = [f.claimAt(15), f.settle(claimed)]
        const { recorded, taken } = yield* round % 2 === 0
          ? Effect.all({ taken: claim, recorded: settle }, { concurrency: 2 })
          : Effect.all({ recorded: settle, taken: claim }, { concurrency: 2 })
        // A claim skips what a settlement has locked.
        const all = [...taken, ...yield* claim]
        const ids = claimed.map(({ delivery }) => delivery.id)
        same(sorted([...recorded, ...all.map(({ delivery }) => delivery.id)]), ids, `round ${round}`)
        yield* f.settle(all)
      }
    }),
    queueLaw("parallel settlements and claims lose nothing", function*(f) {
      const { app, claimed } = yield* f.claimedDeliveries(24)
      const half = claimed.slice(0, 12)
      const settlements = [
        ...half.map((one) => f.settle([one], { dueAt: at(5) })),
        f.settle(claimed.slice(12))
      ]
      const claim = f.claimAt(6)
      const [recorded, claims] = yield* Effect.all([
        Effect.all(settlements, { concurrency: "unbounded" }),
        Effect.all(Array.from({ length: 6 }, () => claim), { concurrency: "unbounded" })
      ], { concurrency: "unbounded" })
      same(recorded.flat().length, 24)
      const again = [...claims.flat(), ...yield* claim].map(({ delivery }) => delivery.id)
      same(sorted(again), half.map(({ delivery }) => delivery.id))
      same((yield* f.listed(app)).filter(({ state }) => state === "delivered").length, 12)
    }),
    queueLaw(
      "readers miss nothing of long saves that overlap, see nothing twice, and see it in one order",
      function*(f) {
        const { app } = yield* f.subscribed
        const readers = [reader(f, app), reader(f, app)]
        const readUntil = (isSaved: () => boolean) =>
          Effect.forEach(readers, ({ read }) => poll(read(1000), isSaved), { concurrency: 2 })
        let saved = 0
        const save = (count: number) => Effect.suspend(() => f.enqueue(app, Arr.makeBy(count, () => f.event(++saved))))
        const ends = (yield* Clock.currentTimeMillis) + 1000
        for (let round = 0; round < 16 && (round < 4 || (yield* Clock.currentTimeMillis) < ends); round++) {
          // Short saves begin and end while long ones go on.
          const saves = [save(200), save(200), Effect.repeatN(save(1), 9)]
          const saving = yield* Effect.fork(Effect.all(saves, { concurrency: "unbounded" }))
          yield* readUntil(() => saving.unsafePoll() !== null)
          yield* Fiber.join(saving)
          yield* readUntil(() => true)
          for (const { seen } of readers) same(seen.length, saved, "number of events that a reader saw")
        }
        const late = reader(f, app)
        yield* Effect.repeat(late.read(100), { until: (page) => page.length === 0 })
        const order = ({ seen }: typeof late) => seen.map(({ delivery }) => delivery.id)
        for (const early of readers) same(order(late), order(early), "what a later reader saw, in its order")
        yield* f.cleanUp
      }
    ),
    queueLaw("readers that race writers and each other miss nothing, and see nothing twice", function*(f) {
      const { app } = yield* f.subscribed
      const [one, two] = [reader(f, app), reader(f, app)]
      const writers = [0, 1, 2, 3].map((writer) =>
        Effect.forEach([1, 2, 3, 4, 5], () => {
          const events = [f.event(writer + 1), f.event(writer + 1)]
          return writer % 2 === 0 ? f.queue(app, events) : f.enqueue(app, events)
        })
      )
      const following = [one, two].map(({ read }) => Effect.repeatN(Effect.zipRight(Effect.yieldNow(), read(3)), 30))
      const working = Effect.repeatN(Effect.flatMap(f.claim(), (found) => f.settle(found)), 30)
      yield* Effect.all([...writers, ...following, working], { concurrency: "unbounded", discard: true })
      const all = new Set((yield* f.listed(app)).map(({ event }) => event.id))
      for (const { read, seen } of [one, two]) {
        yield* Effect.repeat(read(7), { until: (page) => page.length === 0 })
        const ids = seen.map(({ delivery }) => delivery.event.id)
        same(ids.length, all.size, "number of events that a reader saw")
        same(new Set(ids), all)
      }
      for (const writer of [1, 2, 3, 4]) {
        const of = ({ delivery }: LogEntry) => delivery.event.objectId === writer
        const order = one.seen.filter(of).map(({ delivery }) => delivery.id)
        same(order, [...order].sort((a, b) => a - b), `order of the events about object ${writer}`)
      }
    })
  ]
}
