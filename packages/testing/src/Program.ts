/**
 * Runs a program on the services of the core, over any stores, in virtual time, and checks the laws after every step.
 *
 * ```ts
 * it.effect.prop("the laws hold", { program: Command.program(), seed: FastCheck.nat() }, ({ program, seed }) =>
 *   Program.check(program, { seed }).pipe(Effect.provide(Memory.layer)))
 * ```
 */
import type { Stores } from "@startlist/core/Stores"
import * as Policy from "@startlist/core/Policy"
import * as Retention from "@startlist/core/Retention"
import type { Secrets } from "@startlist/core/Secrets"
import * as Services from "@startlist/core/Services"
import type { UserStore } from "@startlist/core/User"
import * as Worker from "@startlist/core/Worker"
import type { Callbacks } from "@startlist/core/Callbacks"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Command from "./Command.ts"
import type { Happening } from "./Happening.ts"
import { intercept } from "./Interception.ts"
import { clearQueue } from "./internal/clearQueue.ts"
import { findViolation } from "./internal/deliveryChecks.ts"
import { type Ledger, makeLedger, nameOf } from "./internal/ledger.ts"
import { createApplication, createRegistration, createUser } from "./internal/create.ts"
import { perform } from "./internal/perform.ts"
import { see } from "./internal/see.ts"
import { watch } from "./internal/watch.ts"
import * as Model from "./Model.ts"
import * as ScriptedCallbacks from "./ScriptedCallbacks.ts"
import * as TestSecrets from "./TestSecrets.ts"
import * as TestUsers from "./TestUsers.ts"
import * as VirtualTime from "./VirtualTime.ts"

/** A law does not hold: what was done until then, and what is wrong. */
export class LawBroken extends Data.TaggedError("LawBroken")<{ readonly story: ReadonlyArray<string> }> {
  override get message(): string {
    return this.story.join("\n")
  }
}

export interface Options {
  /** Names the interleaving of what runs at once. */
  readonly seed: number
  /** Told apart from other programs on the same database. Default: drawn. */
  readonly label?: string
  /** The stores need real time, as a database does: virtual time waits for them. Default: no. */
  readonly isExternal?: boolean
  /** Default: the documented one, looking for work every 20 seconds when nothing wakes the worker. */
  readonly policy?: Policy.Policy.Service
}

type Everything =
  | Stores
  | UserStore
  | TestUsers.TestUsers
  | Services.Services
  | Callbacks
  | ScriptedCallbacks.ScriptedCallbacks
  | Secrets

/** The documented policy, for programs that last for months. */
export const policy: Policy.Policy.Service = { ...Policy.documented, deliveryPoll: Duration.seconds(20) }

/** What was done and seen, one line each; equal for equal programs on all stores that keep the laws. */
export type Trace = ReadonlyArray<string>

/** Runs a program; fails at the first step after which a law does not hold. */
export const check = (program: Command.Program, options: Options): Effect.Effect<void, LawBroken, Stores> =>
  Effect.asVoid(trace(program, options))

/** The same, with what was done and seen. */
export const trace = (
  program: Command.Program,
  options: Options
): Effect.Effect<Trace, LawBroken, Stores> =>
  Effect.gen(function*() {
    const label = options.label ?? (yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)
    const stores = yield* Effect.context<Stores>()
    const lastUserId = yield* Random.nextIntBetween(0, 2 ** 48)
    yield* Effect.orDie(clearQueue)
    return yield* VirtualTime.run(run(program, label, lastUserId, stores, options), { seed: options.seed })
  })

const run = (
  program: Command.Program,
  label: string,
  lastUserId: number,
  stores: Context.Context<Stores>,
  options: Options
) =>
  Effect.gen(function*() {
    const time = yield* VirtualTime.VirtualTime
    const ledger = makeLedger()
    const watching = watch(ledger)
    const watched = intercept(stores, (name, operation, input) => {
      const reached = options.isExternal === true ? time.external(operation) : operation
      // A store is somewhere else: while it is asked, others have their turn.
      return watching(name, Effect.zipRight(Effect.yieldNow(), reached), input)
    })
    const everything = Services.layer.pipe(
      Layer.provideMerge(ScriptedCallbacks.layer),
      Layer.provideMerge(TestSecrets.layer(label)),
      Layer.provideMerge(Layer.merge(Layer.succeedContext(watched), TestUsers.layerAfter(lastUserId)))
    )
    return yield* Effect.scoped(
      Effect.flatMap(Layer.build(everything), (services) => Effect.provide(interpret(program, ledger, label), services))
    ).pipe(
      Effect.provideService(Policy.Policy, options.policy ?? policy)
    )
  })

const interpret = (program: Command.Program, ledger: Ledger, label: string) =>
  Effect.gen(function*() {
    const story: Array<string> = []
    let worlds: ReadonlyArray<Model.World> = [Model.empty]

    const fail = (reason: string) => new LawBroken({ story: [...story, reason] })
    const settle = (happenings: ReadonlyArray<Happening | undefined>) =>
      Effect.gen(function*() {
        const seen = happenings.flatMap((happening) => happening === undefined ? [] : [happening])
        const next = Model.stepTogether(worlds, seen)
        for (const happening of seen) story.push(`  → ${describe(happening)}`)
        if (next.length === 0) return yield* fail(expectation(worlds, seen))
        worlds = next
      })
    const observe = Effect.gen(function*() {
      const now = (yield* Clock.currentTimeMillis) / 1000
      const sight = yield* Effect.orDie(see(ledger))
      const seen = JSON.stringify(sight)
      const agreeing = worlds.filter((world) => JSON.stringify(Model.look(world, now)) === seen)
      const [expected] = worlds
      if (agreeing.length === 0 && expected !== undefined) {
        return yield* fail(`seen:     ${seen}\nexpected: ${JSON.stringify(Model.look(expected, now))}`)
      }
      worlds = agreeing
      const violation = ledger.violations[0] ?? findViolation({
        deliveries: [...ledger.everSeen.values()].sort((a, b) => a.id - b.id),
        received: yield* Effect.flatMap(ScriptedCallbacks.ScriptedCallbacks, (callbacks) => callbacks.received),
        removed: ledger.removed,
        isCalm: ledger.isCalm
      })
      if (violation !== undefined) return yield* fail(violation)
      story.push(`  seen ${seen}`)
    })

    yield* Effect.orDie(Effect.gen(function*() {
      yield* createUser(ledger, label, "platform")
      yield* createUser(ledger, label, "organizer")
      yield* createUser(ledger, label, "athlete")
      yield* createApplication(ledger)
      yield* createApplication(ledger)
    }))
    const [, organizer, athlete] = ledger.users
    if (athlete !== undefined) yield* settle([yield* createRegistration(ledger, athlete, organizer)])

    for (const command of program) {
      story.push(JSON.stringify(command))
      const { interleaved } = yield* VirtualTime.VirtualTime
      const execution = execute(ledger, label, command)
      yield* settle(yield* command._tag === "Parallel" || command._tag === "Work" ? interleaved(execution) : execution)
      yield* observe
    }

    story.push("in the end, with receivers that comply")
    for (const { callbackUrl } of ledger.applications) {
      const callbacks = yield* ScriptedCallbacks.ScriptedCallbacks
      yield* callbacks.next(`${callbackUrl}/right`, [])
    }
    if (ledger.deliveries.some(({ state }) => state === "pending")) yield* work(ledger, 300, false)
    yield* observe
    const waiting = ledger.deliveries.find(({ state }) => state === "pending")
    if (waiting !== undefined) return yield* fail(`law 4: delivery ${waiting.id} is never made`)
    for (const delivery of ledger.deliveries) {
      const attempts = delivery.attempts.map(({ at, outcome }) => `${outcome} at ${at.epochMillis / 1000}`)
      story.push(`${nameOf(ledger, delivery)}: ${delivery.state} ${attempts.join(", ")}`)
    }
    return story
  })

const describe = ({ _tag, at, result, ...rest }: Happening): string =>
  `at ${at} ${_tag} ${JSON.stringify(rest, (key, value) => key === "value" ? undefined : value)}: ${result}`

const expectation = (worlds: ReadonlyArray<Model.World>, happenings: ReadonlyArray<Happening>): string => {
  const [world] = worlds
  const [first] = happenings
  return world !== undefined && first !== undefined && happenings.length === 1
    ? `expected: ${Model.predict(world, first).result}`
    : "this cannot come of any order of what was done at once"
}

const execute = (
  ledger: Ledger,
  label: string,
  command: Command.Command
): Effect.Effect<ReadonlyArray<Happening | undefined>, never, Everything | VirtualTime.VirtualTime> => {
  switch (command._tag) {
    case "Wait":
      return Effect.as(Effect.sleep(Duration.seconds(command.seconds)), [])
    case "Purge":
      return Effect.map(purge(ledger), (happening) => [happening])
    case "Parallel": {
      const prepared = command.commands.map((one) => executeSimple(ledger, label, one))
      return Effect.all(prepared, { concurrency: "unbounded" })
    }
    default:
      return Effect.map(executeSimple(ledger, label, command), (happening) => [happening])
  }
}

const executeSimple = (
  ledger: Ledger,
  label: string,
  command: Command.Simple
): Effect.Effect<Happening | undefined, never, Everything | VirtualTime.VirtualTime> =>
  command._tag === "Work"
    ? Effect.as(work(ledger, command.seconds, command.killed), undefined)
    : perform(ledger, label, command)

/** A worker on a node of its own. */
const work = (ledger: Ledger, seconds: number, isKilled: boolean) =>
  Effect.gen(function*() {
    const time = yield* VirtualTime.VirtualTime
    const node = yield* time.startNode("worker")
    const worker = yield* Effect.forkDaemon(time.on(node)(Worker.run))
    yield* Effect.sleep(Duration.seconds(seconds))
    if (isKilled) {
      ledger.isCalm = false
      yield* time.kill(node)
    } else {
      yield* Fiber.interrupt(worker)
    }
  })

const purge = (ledger: Ledger) =>
  Effect.gen(function*() {
    const at = (yield* Clock.currentTimeMillis) / 1000
    yield* Effect.orDie(Retention.purge)
    const endedBy = (at - 30 * 86_400) * 1000
    const deliveries: Record<number, Array<number>> = {}
    const places = new Map<number, number>()
    for (const { endedAt, subscriptionId } of ledger.deliveries) {
      const place = places.get(subscriptionId) ?? 0
      places.set(subscriptionId, place + 1)
      if (!Option.exists(endedAt, (ended) => ended.epochMillis <= endedBy)) continue
      const subscription = ledger.subscriptions.indexOf(subscriptionId)
      deliveries[subscription] = [...(deliveries[subscription] ?? []), place]
    }
    return { _tag: "Purged" as const, at, result: "ok", deliveries }
  })
