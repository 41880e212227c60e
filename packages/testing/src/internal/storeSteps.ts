/** Runs random programs over the stores, and judges each answer by the models. */
import * as Arr from "effect/Array"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type User, UserId } from "@startlist/core/User"
import { alike, same, sorted } from "./expecting.ts"
import { type Fixture, settled } from "./fixture.ts"
import { atOnce, interrupted as interruptedAtRandom, inTheMiddle, measured, noStops, type Stops } from "./rounds.ts"
import type { Handles } from "./stage.ts"
import { interruptAt } from "./stepping.ts"
import { type Call, type Judge, later, type MakeCall, makeDraw, type Part, type Subjects } from "./storeCall.ts"
import { claim } from "./queueCalls.ts"
import { beginningOf, type Step } from "./storeProgram.ts"
import { deliveriesOf, everything, find } from "./storeFinds.ts"
import { StoreModel } from "./storeModel.ts"

/** A program whose steps choose from these calls. */
export interface Plan {
  /** The parts of a store that it needs. */
  readonly parts: ReadonlyArray<Part>
  readonly calls: ReadonlyArray<MakeCall>
  readonly steps: Iterable<Step>
  readonly start: string
}

interface Prepared {
  readonly by: Fixture
  readonly call: Call
  readonly makeCall: MakeCall
}

/**
 * Steps at which a call is stopped, in their order. With a database only between an answer and the next statement, where the
 * database knows what is done. Without one, the first steps begin the fiber.
 */
const stopsOf = ({ between, order }: Stops<number>): ReadonlyArray<number> =>
  between > 0
    ? order.slice(0, between).toSorted((a, b) => a - b)
    : order.toSorted((a, b) => a - b).slice(Math.floor(order.length / 3))

/** The number of rounds through all stops. It chooses what happens at a stop. */
const roundOf = ({ order }: Stops<number>, at: number): number => Math.floor(at / Math.max(1, order.length))

/** Three users, whose numbers are close to each other, or equal in their last 32 bits. */
const usersOf = (f: Fixture) =>
  Effect.map(f.user("platform"), (user): Subjects["users"] => {
    const other = (distance: number, role: User["role"]) => ({ ...user, id: UserId.make(user.id + distance), role })
    return [user, other(1, "athlete"), other(2 ** 32, "club")]
  })

const rotated = <A>(all: ReadonlyArray<A>, by: number): ReadonlyArray<A> => {
  const [first, last] = Arr.splitAt(all, by % Math.max(1, all.length))
  return [...last, ...first]
}

/** Whether a claim may not show what another call changes at the same time. */
const areIndependent = (calls: ReadonlyArray<Call>): boolean =>
  (calls.length === 1 || calls.every(({ isAlone }) => isAlone !== true)) &&
  !(["shows", "is shown"] as const).every((role) => calls.some(({ claims }) => claims === role))

/** Runs a program. Fails if an answer is wrong. */
export const runProgram = (
  { calls: changes, parts, start, steps }: Plan,
  handles: Handles,
  stops: Map<MakeCall, Stops<number>>,
  log: Array<() => string>,
  isOver: Effect.Effect<boolean>
) =>
  Effect.gen(function*() {
    const [f, g] = handles
    const users = yield* usersOf(f)
    const hasQueue = parts.includes("queue")
    // Those that agree with all answers. They differ in what is not known yet.
    let models: ReadonlyArray<StoreModel> = [new StoreModel()]
    const likely = () => models[0] ?? new StoreModel()
    const judge = (...orders: ReadonlyArray<ReadonlyArray<Judge>>): void => {
      models = agreeing(models, ...orders)
    }
    let now = DateTime.unsafeMake(start)
    const subjects = (): Subjects => ({ model: likely(), now, parts, users })

    /** Finds the identifiers of deliveries that saves have queued. */
    const number = (by: Fixture) =>
      Effect.gen(function*() {
        const unnumbered = models.flatMap(({ deliveries }) => deliveries.filter(({ id }) => id === undefined))
        for (const id of new Set(unnumbered.map(({ delivery }) => delivery.applicationId))) {
          judge([yield* deliveriesOf(by, id).run])
        }
      })

    /** Finds everything in which the models differ, or claims if they differ in claims. */
    const tellApart = (by: Fixture) =>
      Effect.gen(function*() {
        const candidates = models
        yield* number(by)
        if (candidates.length === 1) return
        for (const { expected, run } of everything(subjects(), by)) {
          if (expected !== undefined && !areAlike(expected, candidates)) judge([yield* run])
        }
        const claimed = hasQueue && models.length > 1 ? claim(subjects(), by, makeDraw(0)) : undefined
        if (claimed !== undefined) judge([yield* claimed.run])
      })

    const prepared = ({ call: place, handle, seed }: Step["one"], makeCall = changes[place % changes.length]) => {
      const by = handle === 0 ? f : g
      const call = makeCall?.(subjects(), by, makeDraw(seed))
      return call && makeCall && { by, call, makeCall }
    }

    const measure = ({ call, makeCall }: Prepared) =>
      Effect.gen(function*() {
        const [taken, judged] = yield* measured(call.run)
        const { between, order } = stops.get(makeCall) ?? noStops
        const isLonger = between > 0 === taken.between > 0 ? taken.order.length > order.length : taken.between > 0
        if (isLonger) stops.set(makeCall, { ...taken, order: stopsOf(taken) })
        judge([judged])
      })

    /** Interrupts a call, and tries again until it is done. Each time it is interrupted some steps later. */
    const interrupted = (prepared: Prepared, at: number) =>
      Effect.gen(function*() {
        const { by, call, makeCall } = prepared
        const known = stops.get(makeCall) ?? noStops
        const { between, millis, order } = known
        if (between > 0 && call.isOnce === true && call.unanswered !== undefined && roundOf(known, at) % 4 === 0) {
          log.push(() => "(interrupted during a statement)")
          yield* interruptedAtRandom(call.run, millis)
          judge([], [call.unanswered])
          return yield* measure(prepared)
        }
        const left = order.slice(at % order.length)
        // A slow store takes many steps.
        const stride = Math.max(1 + at % 5, Math.ceil(left.length / 12))
        for (const stop of left.filter((_, place) => place % stride === 0)) {
          const before = models
          log.push(() => "(interrupted)")
          const exit = yield* interruptAt(call.run, stop)
          const unanswered = call.unanswered ?? (call.recovered && (yield* call.recovered))
          judge(...Exit.isSuccess(exit) ? [[exit.value]] : [[], ...unanswered ? [[unanswered]] : []])
          // A database may still be busy with a statement of the call, which nothing shows from outside. A repetition waits for
          // it, or makes it void.
          if (between > 0 && call.isOnce === true) return yield* measure(prepared)
          if (between > 0) yield* Effect.sleep(Math.max(20, 4 * millis))
          yield* tellApart(by)
          if (models.length > 1 || models.some((one) => before.every((other) => !one.isLike(other)))) return
        }
      })

    /** Stops a call at a step while the others run. */
    const withOthers = ({ call, makeCall }: Prepared, others: ReadonlyArray<Call>, at: number) =>
      Effect.gen(function*() {
        const known = stops.get(makeCall) ?? noStops
        const { millis, order } = known
        log.push(() => "(at the same time)")
        const first = call.shared ?? call.run
        const rest = others.map(({ run, shared = run }) => shared)
        if (roundOf(known, at) % 3 === 0) return judge(...ordersOf(yield* atOnce([first, ...rest])))
        const [answers, judged] = yield* inTheMiddle(
          [[first, order[at % order.length] ?? 0]],
          Effect.all(rest, { concurrency: "unbounded" }),
          millis
        )
        judge(...ordersOf([...answers, ...judged]))
      })

    /** Finds whose answers some of these calls change, one after the other. */
    const findsOf = (by: Fixture, changes: ReadonlyArray<Judge>, at: number): ReadonlyArray<Call> => {
      const moments = changes.reduce<ReadonlyArray<StoreModel>>(([last = new StoreModel(), ...all], change) => {
        const next = new StoreModel(last)
        change(next)
        return [next, last, ...all]
      }, [likely()])
      const [others, changed] = Arr.partition(
        everything(subjects(), by),
        ({ expected }) => expected !== undefined && !areAlike(expected, moments)
      )
      const all = [...rotated(changed, at), ...rotated(others.filter(({ expected }) => expected === undefined), at)]
      return all.slice(0, 4)
    }

    /** Finds while a call is stopped at a step: all show it from one find on. */
    const seenInTheMiddle = ({ call, makeCall }: Prepared, unanswered: Judge, at: number) =>
      Effect.gen(function*() {
        const { millis, order } = stops.get(makeCall) ?? noStops
        const finds = findsOf(g, [unanswered], at)
        log.push(() => "(seen in the middle)")
        const [answers, judged] = yield* inTheMiddle(
          [[call.run, order[at % order.length] ?? 0]],
          Effect.all(finds.map(({ run }) => run)),
          millis
        )
        judge(
          ...[...judged, undefined].map((_, place) => [...judged.slice(0, place), ...answers, ...judged.slice(place)])
        )
      })

    /** Finds that are stopped at a step while calls run: each shows one moment. */
    const seenDuring = (calls: ReadonlyArray<Call>, at: number) =>
      Effect.gen(function*() {
        const finds = findsOf(g, calls.flatMap(({ unanswered }) => unanswered ?? []), at)
        const stopped = yield* Effect.forEach(finds, ({ run }) =>
          Effect.map(measured(run), ([{ between, millis, order }, judged]) => {
            judge([judged])
            const steps = between > 0
              ? rotated(order.slice(0, between), at).slice(0, 2)
              : rotated(order, at).slice(0, 30)
            return steps.map((step) => ({ millis, run: [run, step] as const }))
          }))
        log.push(() => "(seen during)")
        const [judged, answers] = yield* inTheMiddle(
          stopped.flat().map(({ run }) =>
            run
          ),
          Effect.all(calls.map(({ run }) => run)),
          Math.max(0, ...stopped.flat().map(({ millis }) => millis))
        )
        const moments = [...models]
        for (const answer of answers) {
          judge([answer])
          moments.push(...models)
        }
        for (const one of judged) agreeing(moments, [one])
      })

    /** Whether the stops of a call are known. One that had nothing to do did not ask the database. */
    const areStopsOf = (makeCall: MakeCall): boolean => {
      const known = stops.get(makeCall)
      return known !== undefined && (known.between > 0 || [...stops.values()].every(({ between }) => between === 0))
    }

    const perform = ({ are, at, how, isFind, one, others, waits }: Step) =>
      Effect.gen(function*() {
        now = later(now, waits)
        const canFind = how === "alone" || how === "with others"
        const first = prepared(one, canFind && isFind ? find : undefined)
        if (first === undefined) return
        const { by, call, makeCall } = first
        const isKnown = areStopsOf(makeCall) && models.length < 4
        const beside = others.flatMap((other) =>
          prepared(
            are === "different" ? other : { ...other, seed: one.seed },
            are === "equal" ? makeCall : undefined
          )?.call ?? []
        )
        const independent = beside.filter((one) => areIndependent([call, one]))
        if (isKnown && how === "interrupted" && (call.unanswered ?? call.recovered) !== undefined) {
          yield* interrupted(first, at)
        } else if (isKnown && how === "with others" && areIndependent([call, ...independent])) {
          yield* withOthers(first, independent, at)
        } else if (isKnown && how === "seen" && call.unanswered !== undefined && models.length === 1) {
          const then = beside.slice(0, 1).filter(({ unanswered }) => unanswered !== undefined)
          const round = roundOf(stops.get(makeCall) ?? noStops, at) % 4
          yield* round > 1
            ? seenInTheMiddle(first, call.unanswered, at)
            : seenDuring([call, ...then], at)
        } else {
          yield* measure(first)
          if (how === "repeated") yield* measure(first)
        }
        yield* tellApart(by)
        const [look] = rotated(everything(subjects(), g), at)
        if (look !== undefined) judge([yield* look.run])
      })

    /** Claims and delivers until nothing is left. */
    const rest = Effect.gen(function*() {
      for (let isLeft = true; isLeft;) {
        now = later(now, 1000)
        const request = { now, leaseEnds: later(now, 15), limit: 1000, perSubscription: 1000 }
        const claimed = yield* g.claim({ ...request, token: g.name("claim"), allowances: new Map() })
        judge([(model) => {
          const asked = { ...request, token: claimed[0]?.token ?? "", allowances: new Map<never, number>() }
          same(claimed, model.claim(asked, model.claimable(asked)), "what is claimed in the end")
        }])
        const settlements = settled(claimed, { state: "delivered", endedAt: Option.some(now) })
        const recorded = yield* g.deliveryQueue.settle(settlements)
        judge([(model) => same(sorted(recorded), sorted(model.settle(settlements)), "what is recorded")])
        isLeft = claimed.length > 0
      }
    })

    const all = Effect.suspend(() =>
      Effect.forEach(everything(subjects(), g), ({ run }) => Effect.map(run, (judged) => judge([judged])))
    )

    for (const makeCall of beginningOf(parts)) {
      const call = makeCall(subjects(), f, makeDraw(0))
      if (call !== undefined) judge([yield* call.run])
      yield* number(f)
    }
    for (const step of steps) {
      if (yield* isOver) break
      yield* perform(step)
    }
    yield* all
    if (hasQueue) {
      yield* rest
      yield* all
    }
    const subscriptions = new Set(models.flatMap((model) => [...model.subscriptions.keys()]))
    yield* Effect.forEach(subscriptions, (id) => f.subscriptions.remove(id, now))
  })

/** All orders of these. */
const ordersOf = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  all.length === 0 ? [[]] : all.flatMap((one, place) => ordersOf(Arr.remove(all, place)).map((rest) => [one, ...rest]))

/** Copies of the models that agree with some of these orders. Throws if none does. */
const agreeing = (models: ReadonlyArray<StoreModel>, ...orders: ReadonlyArray<ReadonlyArray<Judge>>) => {
  let wrong: unknown
  const agree = models.flatMap((model) =>
    orders.flatMap((order) => {
      const copy = new StoreModel(model)
      try {
        order.forEach((one) => one(copy))
        return [copy]
      } catch (error) {
        wrong ??= error
        return []
      }
    })
  )
  if (agree.length === 0) throw wrong
  return Arr.dedupeWith(agree, (one, other) => one.isLike(other))
}

/** Whether a find shows the same in all of these models. */
const areAlike = (expected: (model: StoreModel) => unknown, models: ReadonlyArray<StoreModel>): boolean => {
  const [first, ...rest] = models.map(expected)
  return rest.every((one) => alike(first, one))
}
