/**
 * Random programs over the stores, by two handles or by one. A call runs alone, is interrupted at a step, or is stopped at
 * a step while another one runs. Each answer, and everything in the end, must be as in the model: in some order of the
 * calls, with those that were interrupted done completely or not at all.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import { intercept } from "../Interception.ts"
import { forAll, law, type LawGroup } from "../Law.ts"
import { holds, same, sorted, Unexpected } from "./expecting.ts"
import { type Fixture, make, settled } from "./fixture.ts"
import { plain } from "./plain.ts"
import { inTheMiddle, measured, type Stops } from "./rounds.ts"
import { asText, type Handles, type WithHandles } from "./stage.ts"
import { interruptAt } from "./stepping.ts"
import { type Call, type Judge, type MakeCall, makeDraw, time } from "./storeCall.ts"
import { beginning, calls, claim } from "./storeCalls.ts"
import { everything } from "./storeFinds.ts"
import { clearQueue } from "./storeLaw.ts"
import { StoreModel } from "./storeModel.ts"

/** A call, and the numbers by which it chooses. */
const choices = FastCheck.record({
  call: FastCheck.nat(999),
  handle: FastCheck.nat(1),
  choices: FastCheck.array(FastCheck.nat(999), { minLength: 14, maxLength: 14 })
})

/** A call, what happens to it, and the call that runs at the same time. */
const step = FastCheck.record({
  one: choices,
  how: FastCheck.constantFrom("alone", "alone", "interrupted", "interrupted", "with another", "twice"),
  other: choices,
  at: FastCheck.nat(999),
  waits: FastCheck.constantFrom(0, 0, 0, 0, 1, 5, 15, 0.001, 100)
})

type Step = typeof step extends FastCheck.Arbitrary<infer A> ? A : never

/** An error shows the calls of a program, but not the numbers that choose them. */
const program = FastCheck.array(step, { maxLength: 60, size: "max" }).map((steps) => ({
  steps,
  [FastCheck.toStringMethod]: () => `${steps.length} steps`
}))

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

const makeRun = (handles: Handles, stops: Map<MakeCall, Stops<number>>, log: Array<string>) =>
  Effect.gen(function*() {
    const [f, g] = handles
    const users = yield* Effect.all([f.user("platform"), f.user(), f.user()])
    /** Those that agree with all answers. */
    let models: ReadonlyArray<StoreModel> = [new StoreModel()]
    let now = 0

    /** Leaves the models that agree with some of these orders. */
    const judge = (...orders: ReadonlyArray<ReadonlyArray<Judge>>): void => {
      let wrong: unknown
      const agreeing = models.flatMap((model) =>
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
      if (agreeing.length === 0) throw wrong
      models = agreeing.length === 1
        ? agreeing
        : [...new Map(agreeing.map((model) => [model.fingerprint, model])).values()]
    }

    /** Finds the identifiers of deliveries that saves have queued. */
    const number = (by: Fixture) =>
      Effect.gen(function*() {
        const unnumbered = (model: StoreModel) => model.deliveries.filter(({ id }) => id === undefined)
        for (const applicationId of new Set(models.flatMap(unnumbered).map(({ delivery }) => delivery.applicationId))) {
          const count = (model: StoreModel) =>
            unnumbered(model).filter(({ delivery }) => delivery.applicationId === applicationId).length
          const page = { state: Option.none(), after: Option.none(), limit: Math.max(...models.map(count)) + 1 }
          const filter = { ...page, applicationId: Option.some(applicationId) }
          const listed = yield* by.deliveries.list(filter)
          judge([(model) => {
            const queued = count(model)
            holds(listed.length >= queued, `${queued} deliveries were queued, and ${listed.length} are listed`)
            model.number(applicationId, listed.slice(0, queued).map(({ id }) => id))
            same(listed, model.listDeliveries(filter), "what was queued")
          }])
        }
      })

    /** Finds what tells the models apart, or claims if they differ in claims. */
    const tellApart = (by: Fixture) =>
      Effect.gen(function*() {
        const [model] = models
        if (model === undefined || models.length === 1) return
        for (const { expected, run } of everything({ model, users }, by)) {
          if (expected === undefined || new Set(models.map((one) => asText(plain(expected(one))))).size === 1) continue
          judge([yield* run])
          if (models.length === 1) return
        }
        const claimed = claim({ model, now, users }, by, makeDraw([]))
        if (claimed !== undefined) judge([yield* claimed.run])
      })

    const prepared = ({ call: place, choices, handle }: Step["one"]): Prepared | undefined => {
      const makeCall = calls[place % calls.length]
      const [model] = models
      const by = handle === 0 ? f : g
      const call = model && makeCall?.({ model, now, users }, by, makeDraw(choices))
      return call && makeCall && { by, call, makeCall }
    }

    /** Interrupts a call, and tries again until it is done. Each time it is interrupted some steps later. */
    const interrupted = ({ by, call }: Prepared, unanswered: Judge, { order }: Stops<number>, at: number) =>
      Effect.gen(function*() {
        const stride = 1 + at % 5
        const stops = order.slice(at % order.length).filter((_, place) => place % stride === 0)
        for (const stop of stops) {
          const before = new Set(models.map(({ fingerprint }) => fingerprint))
          log.push("(interrupted)")
          const exit = yield* interruptAt(call.run, stop)
          judge(...Exit.isSuccess(exit) ? [[exit.value]] : [[], [unanswered]])
          yield* number(by)
          yield* tellApart(by)
          if (models.length > 1 || models.some(({ fingerprint }) => !before.has(fingerprint))) return
        }
      })

    const perform = ({ at, how, one, other, waits }: Step) =>
      Effect.gen(function*() {
        now += waits
        const first = prepared(one)
        if (first === undefined) return
        const { by, call, makeCall } = first
        const known = stops.get(makeCall)
        const second = how === "alone"
          ? undefined
          : prepared(how === "twice" ? { ...one, handle: other.handle } : other)
        if (known !== undefined && how === "interrupted" && call.unanswered !== undefined && models.length < 4) {
          yield* interrupted(first, call.unanswered, known, at)
        } else if (
          known !== undefined && second !== undefined &&
          (how === "twice" && call.isOnce === true || areIndependent(call, second.call))
        ) {
          log.push("(at the same time)")
          const { millis, order } = known
          const stop = order[at % order.length] ?? 0
          const [answers, judged] = yield* inTheMiddle(
            [[call.shared ?? call.run, stop]],
            second.call.shared ?? second.call.run,
            millis
          )
          judge([...answers, judged], [judged, ...answers])
        } else {
          const [taken, judged] = yield* measured(call.run)
          if (taken.order.length > (known?.order.length ?? 0)) stops.set(makeCall, { ...taken, order: stopsOf(taken) })
          judge([judged])
        }
        yield* number(by)
        yield* tellApart(by)
      })

    /** Claims and delivers until nothing is left. */
    const rest = Effect.gen(function*() {
      for (let isLeft = true; isLeft;) {
        now += 1000
        const request = { now: time(now), leaseEnds: time(now + 15), limit: 1000, perSubscription: 1000 }
        const claimed = yield* g.claim({ ...request, token: g.name("claim"), allowances: new Map() })
        judge([(model) => {
          const asked = { ...request, token: claimed[0]?.token ?? "", allowances: new Map<never, number>() }
          same(claimed, model.claim(asked, model.claimable(asked)), "what is claimed in the end")
        }])
        const settlements = settled(claimed, { state: "delivered", endedAt: Option.some(time(now)) })
        const recorded = yield* g.deliveryQueue.settle(settlements)
        judge([(model) => same(sorted(recorded), sorted(model.settle(settlements)), "what is recorded")])
        isLeft = claimed.length > 0
      }
    })

    const all = Effect.suspend(() => {
      const [model = new StoreModel()] = models
      return Effect.forEach(everything({ model, users }, g), ({ run }) => Effect.map(run, (judged) => judge([judged])))
    })

    return (steps: ReadonlyArray<Step>) =>
      Effect.gen(function*() {
        for (const makeCall of beginning) {
          const [model = new StoreModel()] = models
          const call = makeCall({ model, now, users }, f, makeDraw([]))
          if (call !== undefined) judge([yield* call.run])
          yield* number(f)
        }
        for (const step of steps) yield* perform(step)
        yield* all
        yield* rest
        yield* all
        const subscriptions = new Set(models.flatMap((model) => [...model.subscriptions.keys()]))
        yield* Effect.forEach(subscriptions, (id) => f.subscriptions.remove(id, time(now)))
      })
  })

/** Whether the answers of two calls at the same time can be judged. */
const areIndependent = (one: Call, other: Call): boolean =>
  !one.isAlone && !other.isAlone &&
  [[one, other], [other, one]].every(([a, b]) => a?.changes === undefined || b?.tells?.includes(a.changes) !== true)

const show = (value: unknown): string => {
  const text = JSON.stringify(plain(value)) ?? "nothing"
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

/** The fixture of a handle whose calls are logged. */
const logged = ({ services }: Fixture, name: string, log: Array<string>) =>
  Effect.provide(
    make,
    intercept(services, (operation, effect, input) =>
      Effect.onExit(effect, (exit) =>
        Effect.sync(() => {
          const answer = Exit.isSuccess(exit) ? show(exit.value) : Cause.pretty(exit.cause)
          log.push(`${name}: ${operation} ${show(input)}: ${answer}`)
        })))
  )

const run = (
  [one, other]: Handles,
  stops: Map<MakeCall, Stops<number>>,
  steps: ReadonlyArray<Step>
): Effect.Effect<void, unknown> =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const handles: Handles = [yield* logged(one, "one handle", log), yield* logged(other, "another", log)]
    // What an earlier program has left.
    yield* Effect.provide(clearQueue, one.services)
    yield* Effect.repeat(one.deliveries.purge(time(1e7), 1000), { until: (count) => count === 0 })
    log.length = 0
    const check = yield* makeRun(handles, stops, log)
    yield* Effect.catchAllCause(
      check(steps),
      (cause) => Effect.die(new Unexpected([...log, String(Cause.squash(cause))].join("\n")))
    )
  })

/** Milliseconds after which no new program begins. A counterexample is shrunk for as long. */
const duration = 2000

/** The law of random programs, over two handles or one. */
export const storePrograms = <R>(withHandles: WithHandles<R>): LawGroup<R> => ({
  about: "random programs",
  laws: [
    law(
      "every call answers as in some order of all calls, and what is interrupted is done completely or not at all",
      () =>
        withHandles((handles) =>
          Effect.gen(function*() {
            const stops = new Map<MakeCall, Stops<number>>()
            let ends = (yield* Clock.currentTimeMillis) + duration
            yield* forAll(program, ({ steps }) =>
              Effect.gen(function*() {
                const now = yield* Clock.currentTimeMillis
                if (now > ends) return
                const lengthen = Effect.sync(() => {
                  ends = Math.max(ends, now + duration)
                })
                yield* Effect.tapErrorCause(run(handles, stops, steps), () => lengthen)
              }), { numRuns: 100, interruptAfterTimeLimit: 5 * duration })
          })
        )
    )
  ]
})
