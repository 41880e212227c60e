/**
 * Runs a program on the services of the core, over any stores, in virtual time, and checks the laws after every step.
 *
 * ```ts
 * it.effect.prop("the laws hold", { program: Operation.program(), seed: FastCheck.nat() }, ({ program, seed }) =>
 *   Program.check(program, { seed }).pipe(Effect.provide(Memory.layer)))
 * ```
 */
import * as Audit from "@startlist/core/Audit"
import type { Stores } from "@startlist/core/Services"
import * as Policy from "@startlist/core/Policy"
import * as Services from "@startlist/core/Services"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Operation from "./Operation.ts"
import type { HistoryEntry } from "./HistoryEntry.ts"
import { intercept } from "@startlist/testing/Faults"
import { clearQueue } from "@startlist/testing/internal/storeLaw"
import { findViolation } from "./deliveryChecks.ts"
import { makeProgramFixture, type ProgramFixture } from "./programFixture.ts"
import { createUser } from "./performEvents.ts"
import { addApplication, execute, request, work } from "./execute.ts"
import * as PerformApplication from "./performApplication.ts"
import { storeChecks } from "./storeChecks.ts"
import * as Observed from "./observe.ts"
import * as Model from "./Model.ts"
import * as ScriptedCallbacks from "@startlist/testing/ScriptedCallbacks"
import * as TestSecrets from "@startlist/testing/TestSecrets"
import * as TestUsers from "@startlist/testing/TestUsers"
import * as VirtualTime from "@startlist/testing/VirtualTime"

/** A law does not hold. `history` ends with what is wrong. */
export class LawBroken extends Data.TaggedError("LawBroken")<{ readonly history: ReadonlyArray<string> }> {
  override get message(): string {
    return this.history.join("\n")
  }
}

export interface Options {
  /** Selects the interleaving of parallel operations. */
  readonly seed: number
  /** Whether virtual time waits for the stores, as a database needs. Default: no. */
  readonly isExternal?: boolean
  /** Default: `refuse`. */
  readonly replay?: Policy.Policy.Service["replay"]
}

/** The documented policy, with fewer polls for programs that last for months. */
const policy: Policy.Policy.Service = { ...Policy.documented, deliveryPoll: Duration.seconds(20) }

/** Runs a program. Fails at the first step after which a law does not hold. */
export const check = (program: Operation.Program, options: Options): Effect.Effect<void, LawBroken, Stores> =>
  Effect.gen(function*() {
    // Separates this program's records from others in the same database.
    const label = (yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)
    const stores = yield* Effect.context<Stores>()
    const lastUserId = yield* Random.nextIntBetween(0, 2 ** 48)
    yield* Effect.orDie(clearQueue)
    yield* VirtualTime.run(run(program, label, lastUserId, stores, options), { seed: options.seed })
  })

const run = (
  program: Operation.Program,
  label: string,
  lastUserId: number,
  stores: Context.Context<Stores>,
  options: Options
) =>
  Effect.gen(function*() {
    const time = yield* VirtualTime.VirtualTime
    const fixture = makeProgramFixture()
    const checking = storeChecks(fixture)
    const watched = intercept(stores, (name, operation, input) => {
      const reached = options.isExternal === true ? time.external(operation) : operation
      // Other fibers run during a call, as they do while a database answers.
      return checking(name, Effect.zipRight(Effect.yieldNow(), reached), input)
    })
    const everything = Services.layer.pipe(
      Layer.provideMerge(ScriptedCallbacks.layer),
      Layer.provideMerge(Layer.merge(Audit.none, TestSecrets.layer(label))),
      Layer.provideMerge(Layer.merge(Layer.succeedContext(watched), TestUsers.layerAfter(lastUserId)))
    )
    return yield* Effect.scoped(
      Effect.flatMap(
        Layer.build(everything),
        (services) => Effect.provide(interpret(program, fixture), services)
      )
    ).pipe(
      Effect.provideService(Policy.Policy, { ...policy, replay: options.replay ?? policy.replay })
    )
  })

const interpret = (program: Operation.Program, fixture: ProgramFixture) =>
  Effect.gen(function*() {
    const history: Array<string> = []
    let states: ReadonlyArray<Model.State> = [Model.empty((yield* Policy.Policy).replay)]

    const fail = (reason: string) => new LawBroken({ history: [...history, reason] })
    const settle = (seen: ReadonlyArray<HistoryEntry>) =>
      Effect.gen(function*() {
        const next = Model.stepTogether(states, seen)
        for (const entry of seen) history.push(`  → ${describe(entry)}`)
        if (next.length === 0) return yield* fail(expectation(states, seen))
        states = next
      })
    const received = Effect.flatMap(ScriptedCallbacks.ScriptedCallbacks, (callbacks) => callbacks.received)
    const observe = Effect.gen(function*() {
      const now = (yield* Clock.currentTimeMillis) / 1000
      const observation = yield* Effect.orDie(Observed.observe(fixture))
      const seen = JSON.stringify(observation)
      const agreeing = states.filter((state) => JSON.stringify(Observed.expected(state, now)) === seen)
      const [expected] = states
      if (agreeing.length === 0 && expected !== undefined) {
        return yield* fail(`seen:     ${seen}\nexpected: ${JSON.stringify(Observed.expected(expected, now))}`)
      }
      states = agreeing
      const violation = fixture.violations[0] ?? findViolation({
        deliveries: [...fixture.everSeen.values()].sort((a, b) => a.id - b.id),
        received: yield* received,
        removed: fixture.removed,
        isCalm: fixture.isCalm
      })
      if (violation !== undefined) return yield* fail(violation)
      history.push(`  seen ${seen}`)
    })

    yield* Effect.orDie(Effect.gen(function*() {
      yield* createUser(fixture, "platform")
      yield* createUser(fixture, "organizer")
      yield* createUser(fixture, "athlete")
      yield* addApplication(fixture)
      yield* addApplication(fixture)
    }))
    yield* settle(yield* request(fixture, { _tag: "CreateRegistration", athlete: 0, organizer: 0 }))

    for (const operation of program) {
      history.push(JSON.stringify(operation))
      const { interleaved } = yield* VirtualTime.VirtualTime
      const execution = execute(fixture, operation)
      const isHeld = (application: number) => states.every((state) => Model.isHeld(state, application))
      const waiting = fixture.applications.filter((_, application) => isHeld(application))
      const begin = (yield* received).length
      const entries = yield* operation._tag === "Parallel" || operation._tag === "Work"
        ? interleaved(execution)
        : execution
      yield* settle(entries)
      const got = (yield* received).slice(begin)
      const wrong = got.find(({ callbackUrl, kind }) =>
        kind === "event" && waiting.some((application) => callbackUrl.startsWith(application.callbackUrl))
      )
      if (wrong !== undefined && !entries.some(({ _tag }) => changesWaiting.has(_tag))) {
        return yield* fail(`law 14: a receiver got ${wrong.body} while its events wait`)
      }
      yield* observe
    }

    history.push("in the end, with receivers that comply, and nobody suspended or paused")
    yield* Effect.orDie(PerformApplication.release(fixture))
    states = states.map(Model.released)
    for (const { callbackUrl } of fixture.applications) {
      const callbacks = yield* ScriptedCallbacks.ScriptedCallbacks
      yield* callbacks.next(`${callbackUrl}/right`, [])
    }
    if (fixture.deliveries.some(({ state }) => state === "pending")) yield* work(fixture, 300, false)
    yield* observe
    const waiting = fixture.deliveries.find(({ state }) => state === "pending")
    if (waiting !== undefined) return yield* fail(`law 4: delivery ${waiting.id} is never made`)
  })

/** Requests after which the events of an application may no longer wait. */
const changesWaiting: ReadonlySet<HistoryEntry["_tag"]> = new Set([
  "StateSet",
  "PauseSet",
  "Subscribed",
  "Unsubscribed"
])

const describe = ({ _tag, at, result, ...rest }: HistoryEntry): string =>
  `at ${at} ${_tag} ${JSON.stringify(rest, (key, value) => key === "value" ? undefined : value)}: ${result}`

const expectation = (states: ReadonlyArray<Model.State>, entries: ReadonlyArray<HistoryEntry>): string => {
  const [state] = states
  const [first] = entries
  return state !== undefined && first !== undefined && entries.length === 1
    ? `expected: ${Model.predict(state, first).result}`
    : "no order of the parallel operations gives these results"
}
