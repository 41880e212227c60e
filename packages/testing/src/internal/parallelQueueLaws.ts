/** Laws of many calls of the queue and readers of the log at the same time. */
import type { Application } from "@startlist/core/Application"
import type { DeliveryId, LogEntry } from "@startlist/core/Delivery"
import type { Claimed } from "@startlist/core/DeliveryQueue"
import type { StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { Law } from "../Law.ts"
import { poll } from "./eventLoop.ts"
import { same, sorted } from "./expecting.ts"
import { at, type Fixture } from "./fixture.ts"
import { rounds, together } from "./rounds.ts"
import { often, queueLaw } from "./storeLaw.ts"

/** An application with claimed deliveries. */
const situation = (f: Fixture, round: number) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    const enqueue = f.enqueue(app, f.events(Arr.range(1, 30)))
    yield* enqueue
    const claims = yield* f.claim()
    /** Settles half of them in one call, and each of the others in a call of its own. */
    const settle = (fields?: Parameters<Fixture["settle"]>[1]) =>
      Effect.all(
        [f.settle(claims.slice(15), fields), ...claims.slice(0, 15).map((one) => f.settle([one], fields))],
        together
      )
    // Usually of as many as there are: a store may then look no further.
    const limit = round % 4 === 0 ? 1000 : 30
    const claimLater = f.claimAt(15)
    return {
      app,
      claimLater,
      calls: {
        "a settlement": Effect.map(settle(), (ids) => ({ recorded: ids.flat() })),
        "a settlement that is tried again": Effect.map(settle({ dueAt: at(9) }), (ids) => ({ again: ids.flat() })),
        "a cancellation": Effect.map(f.deliveryQueue.cancel(app.id, at(1), limit), (cancelled) => ({ cancelled })),
        "a removal": Effect.map(f.subscriptions.remove(subscription.id, at(1)), (removed) => ({ removed })),
        "claims after the leases": Effect.map(Effect.all([claimLater, claimLater, claimLater], together), (all) => ({
          taken: all.flat()
        })),
        "the next events": Effect.as(enqueue, {})
      } satisfies Record<string, Effect.Effect<Said, StoreError>>
    }
  })

/** What a call says about deliveries: its own ones, or their number. */
interface Said {
  readonly recorded?: ReadonlyArray<DeliveryId>
  readonly again?: ReadonlyArray<DeliveryId>
  readonly taken?: ReadonlyArray<Claimed>
  readonly cancelled?: number
  readonly removed?: boolean
}

const pairs = [
  ["a settlement", "a cancellation"],
  ["a settlement", "a removal"],
  ["a settlement", "claims after the leases"],
  ["a settlement that is tried again", "claims after the leases"],
  ["a settlement", "the next events"],
  ["a cancellation", "the next events"],
  ["a removal", "the next events"]
] as const

/** What both calls say is so, and what is pending afterwards is claimed. */
const pair = (names: typeof pairs[number]): Law<Stores> =>
  queueLaw(
    `of ${names.join(" and ")}, each delivery has what their answers say, and none is lost`,
    often(function*(f, round) {
      const { app, calls, claimLater } = yield* situation(f, round)
      const both: ReadonlyArray<Effect.Effect<Said, StoreError>> = names.map((name) => calls[name])
      const [one, other] = yield* Effect.all(round % 2 === 0 ? both : both.toReversed(), together)
      const { again, cancelled, recorded, removed, taken }: Said = { ...one, ...other }
      const found = yield* f.listed(app)
      const ids = (state: string) => found.filter((one) => one.state === state).map(({ id }) => id)
      const retried = found.filter(({ dueAt }) => dueAt.epochMillis === at(9).epochMillis).map(({ id }) => id)
      same([ids("delivered"), retried], [recorded ?? [], again ?? []].map(sorted), "what is recorded")
      if (cancelled !== undefined) same(ids("cancelled").length, cancelled, "what is cancelled")
      if (removed !== undefined) same([removed, ids("pending")], [true, []], "what outlives a removal")
      if (taken !== undefined) {
        // A claim skips what another call has locked.
        const all = [...taken, ...yield* claimLater].map(({ delivery }) => delivery).sort((a, b) => a.id - b.id)
        same(all, found.filter(({ state }) => state === "pending"), "what is claimed, each once, as it is")
      }
      const left = [yield* Effect.flatMap(f.claimAt(40), f.settle), yield* Effect.flatMap(f.claimAt(60), f.settle)]
      same(sorted(left.flat()), ids("pending"), "what is claimed in the end")
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

export const parallelQueueLaws: ReadonlyArray<Law<Stores>> = [
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
  ...pairs.map(pair),
  readers
]
