/**
 * The whole system in one process under virtual time, from one seed: several nodes over one simulated store, behind a
 * network that fails, delays and repeats; applications, users, and receivers that hang, fail and lie; nodes that die
 * between any two steps and come back; clocks that differ. After every write, request and answer each law is checked
 * against a ledger of what was promised to whom.
 *
 * ```ts
 * const outcome = yield* Simulation.run({ seed: 17, hours: 24, stores: MyStores.layer })
 * if (outcome.violation) console.log(Simulation.tell(yield* Simulation.shorten({ seed: 17, stores }, outcome)))
 * ```
 *
 * The same options give the same outcome. Clocks differ by less than `Policy.callbackTimeout`, and "after DELETE no new
 * attempt starts" counts from the claim of an attempt: both are what the worker promises.
 */
import { Callbacks } from "@startlist/core/Callbacks"
import * as Memory from "@startlist/core/Memory"
import * as OAuth from "@startlist/core/OAuth"
import * as Policy from "@startlist/core/Policy"
import { type Kind, prefixes, Secrets, TokenHash } from "@startlist/core/Secrets"
import * as Services from "@startlist/core/Services"
import * as Worker from "@startlist/core/Worker"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as RuntimeFlagsPatch from "effect/RuntimeFlagsPatch"
import { intercept } from "./Interception.ts"
import { type Ask, makeAsk } from "./internal/simulation/Callers.ts"
import { gather } from "./internal/simulation/Cast.ts"
import { chance, fingerprint } from "./internal/simulation/chance.ts"
import { act } from "./internal/simulation/deeds.ts"
import { DeliveryLedger } from "./internal/simulation/DeliveryLedger.ts"
import { Journal, type Line, type Violation } from "./internal/simulation/Journal.ts"
import { boot, isHarmless, makeNode, type WorkerNeeds } from "./internal/simulation/Node.ts"
import * as Plan from "./internal/simulation/plan.ts"
import { Receivers } from "./internal/simulation/Receivers.ts"
import { TokenLedger } from "./internal/simulation/TokenLedger.ts"
import { audit, type World } from "./internal/simulation/World.ts"
import * as VirtualTime from "./VirtualTime.ts"

export type { Line, Violation } from "./internal/simulation/Journal.ts"
export type { Step } from "./internal/simulation/plan.ts"

export interface Options {
  /** Names the run: what is done when, what goes wrong, how long everything takes. */
  readonly seed: number
  /** Default 3. */
  readonly nodes?: number
  /** Default 3. */
  readonly applications?: number
  /** Default 4: an athlete, an organizer, an athlete, a club. */
  readonly users?: number
  /** Default 3. */
  readonly registrations?: number
  /** Simulated hours; default 1. */
  readonly hours?: number
  /** Steps per simulated hour; default 200. */
  readonly pace?: number
  /** How much goes wrong, from 0 (nothing) to 1, the default. */
  readonly faults?: number
  /** How far the clocks of two nodes are apart at most; default 1.8 s. */
  readonly clockSkew?: Duration.DurationInput
  /** Default: the documented one, with few slots and rare polls. */
  readonly policy?: Policy.Policy.Service
  /** The stores to be tried, fresh for every run; default: those in memory. */
  readonly stores?: Layer.Layer<Memory.Stores>
  /** The worker to be tried; default: the core's. */
  readonly worker?: Effect.Effect<never, never, WorkerNeeds>
}

/** What came of a run. */
export interface Outcome {
  readonly seed: number
  /** What was done. */
  readonly steps: ReadonlyArray<Plan.Step>
  /** The first law that did not hold. */
  readonly violation: Violation | undefined
  /** Everything that happened, in order. */
  readonly lines: ReadonlyArray<Line>
  /** How often what happened: `refreshes`, `delivered`, `exhausted`, `crashes`, … */
  readonly counts: ReadonlyMap<string, number>
}

/** The documented policy, with few slots, so that receivers compete for them, and rare polls, so that days are cheap. */
export const policy: Policy.Policy.Service = {
  ...Policy.documented,
  deliveryConcurrency: 4,
  deliveryPerSubscription: 2,
  deliveryPoll: Duration.seconds(30)
}

const sizeOf = (options: Options): Plan.Size => ({
  seed: options.seed,
  nodes: options.nodes ?? 3,
  applications: options.applications ?? 3,
  users: options.users ?? 4,
  registrations: options.registrations ?? 3,
  hours: options.hours ?? 1,
  pace: options.pace ?? 200,
  faults: options.faults ?? 1
})

/** Unguessable only for who does not know the seed, and with a hash that hides what was hashed. */
const makeSecrets = (seed: number): Secrets.Service => {
  let made = 0
  const fresh = () => fingerprint(`${seed}:${++made}`)
  return {
    make: (kind: Kind) => Effect.sync(() => Redacted.make(`${prefixes[kind]}${kind === "event" ? ++made : fresh()}`)),
    makeSigning: Effect.sync(() => Redacted.make(`whsec_${fresh()}`)),
    hash: (value) => TokenHash.make(fingerprint(value), { disableValidation: true })
  }
}

/** Does these steps, lets everything come to its end, and answers the first law that did not hold. */
const perform = (options: Options, size: Plan.Size, steps: ReadonlyArray<Plan.Step>) =>
  Effect.gen(function*() {
    const time = yield* VirtualTime.VirtualTime
    const clock = yield* Effect.clock
    const now = () => clock.unsafeCurrentTimeMillis()
    const began = now()
    const journal = new Journal(yield* Deferred.make<Violation>(), now)
    const secrets = makeSecrets(size.seed)
    const built = yield* time.external(Layer.build(options.stores ?? Memory.layer))
    const stores = intercept(built, (_, effect) => time.external(effect))
    const policyInUse = options.policy ?? policy
    const logger = Logger.make<unknown, void>(({ cause, message }) =>
      journal.check(10, isHarmless([message, String(cause)]), () => "a secret was logged in clear")
    )
    const withPolicy = Layer.succeed(Policy.Policy, policyInUse)
    const ports = Context.add(stores, Secrets, secrets)

    const world: World = {
      seed: size.seed,
      time,
      policy: policyInUse,
      journal,
      deliveries: new DeliveryLedger(journal, policyInUse),
      tokens: new TokenLedger(journal, policyInUse),
      stores,
      get oracle(): OAuth.OAuth.Service {
        return oracle
      },
      wire: yield* time.startNode("wire"),
      alone: yield* Effect.makeSemaphore(1),
      lastTrouble: -Infinity,
      goodSince: new Map()
    }
    const receivers = new Receivers(world)
    const backstage = yield* Layer.build(
      Services.layer.pipe(
        Layer.provide(
          Layer.succeedContext(Context.add(ports, Callbacks, receivers.reachedFrom(world, (call) => call)))
        ),
        Layer.provide(withPolicy)
      )
    )
    const oracle = Context.get(backstage, OAuth.OAuth)
    const cast = yield* gather(size).pipe(Effect.provide(Context.merge(ports, backstage)))
    cast.actors.forEach((actor, application) =>
      cast.users.forEach((user, index) =>
        world.tokens.introduce(world.tokens.pair(application, index), actor.application.id, user.id)
      )
    )

    const skew = Duration.toMillis(options.clockSkew ?? "1800 millis")
    const nodes = Array.from(
      { length: size.nodes },
      (_, index) => makeNode(index, Math.round(skew * (chance(size.seed, index) - 0.5)))
    )
    const start = (node: typeof nodes[number]) =>
      boot(world, node, receivers, secrets, options.worker ?? Worker.run, logger)
    yield* Effect.forEach(nodes, start, { discard: true })
    const ask: Ask = makeAsk(world, nodes, logger)

    const story = Effect.gen(function*() {
      for (const step of steps) {
        yield* Effect.sleep(Math.max(0, began + step.at - now()))
        const deed = Effect.orDie(act({ world, cast, nodes, receivers, ask }, step))
        yield* time.on(world.wire)(
          Effect.forkDaemon(Effect.catchAllCause(deed, (cause) => Deferred.failCause(journal.broken, cause)))
        )
      }
      // Everything is well again: what was promised must come to its end.
      yield* Effect.sleep("3 minutes")
      for (const node of nodes) {
        node.faults.splice(0)
        node.crash = undefined
      }
      receivers.heal()
      journal.tell("all is well again")
      for (let waited = 0; waited < 60 && world.deliveries.pending.size > 0; waited++) yield* Effect.sleep("20 seconds")
      yield* world.alone.withPermits(1)(audit(world))
      const [left] = world.deliveries.pending.values()
      journal.check(4, left === undefined, () => `delivery ${left?.id} is pending though all is well since 20 minutes`)
      return undefined
    })
    const violation = yield* Effect.raceFirst(story, Deferred.await(journal.broken))
    const relative = <A extends { readonly at: number }>(one: A): A => ({ ...one, at: one.at - began })
    const outcome: Outcome = {
      seed: size.seed,
      steps,
      violation: violation === undefined ? violation : relative(violation),
      lines: journal.lines.map(relative),
      counts: journal.counts
    }
    return outcome
  }).pipe(
    Effect.scoped,
    Effect.orDie,
    // Nobody looks at the spans and metrics of a simulation, and they cost a third of it.
    Effect.withTracerEnabled(false),
    Effect.withRuntimeFlagsPatch(RuntimeFlagsPatch.disable(RuntimeFlags.RuntimeMetrics))
  )

const inVirtualTime = (options: Options, size: Plan.Size, steps: ReadonlyArray<Plan.Step>): Effect.Effect<Outcome> =>
  VirtualTime.run(perform(options, size, steps), { seed: size.seed })

/** Runs one seed. */
export const run = (options: Options): Effect.Effect<Outcome> =>
  Effect.suspend(() => {
    const size = sizeOf(options)
    return inVirtualTime(options, size, Plan.make(size))
  })

/** Does exactly these steps, for example those of a story that was shortened. */
export const replay = (options: Options, steps: ReadonlyArray<Plan.Step>): Effect.Effect<Outcome> =>
  Effect.suspend(() => inVirtualTime(options, sizeOf(options), steps))

/** How many runs `shorten` makes at most. */
const shorteningRuns = 400

/**
 * Leaves out steps, and troubles on their way, as long as the same law is broken. Answers the shortest run that it
 * found; its `steps` can be replayed with the same options.
 */
export const shorten = (options: Options, outcome: Outcome): Effect.Effect<Outcome> =>
  Effect.gen(function*() {
    const { violation } = outcome
    if (violation === undefined) return outcome
    let best = outcome
    let runs = 0
    const attempt = (steps: ReadonlyArray<Plan.Step>) =>
      Effect.gen(function*() {
        if (++runs > shorteningRuns) return false
        const shorter = yield* replay(options, steps)
        if (shorter.violation?.law !== violation.law) return false
        best = { ...shorter, steps: steps.filter(({ at }) => at <= (shorter.violation?.at ?? Infinity)) }
        return true
      })
    yield* attempt(outcome.steps.filter(({ at }) => at <= violation.at))
    for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = best.steps.length - size; from > -size; from -= size) {
        const start = Math.max(0, from)
        yield* attempt([...best.steps.slice(0, start), ...best.steps.slice(start + size)])
      }
    }
    // One by one, until none can be left out.
    for (let before = -1; before !== best.steps.length && runs <= shorteningRuns;) {
      before = best.steps.length
      for (let index = before - 1; index >= 0; index--) yield* attempt(best.steps.filter((_, other) => other !== index))
    }
    for (let index = 0; index < best.steps.length; index++) {
      if (best.steps[index]?.way === "clear") continue
      yield* attempt(best.steps.map((step, other) => other === index ? { ...step, way: "clear" as const } : step))
    }
    return best
  })

const clockTime = (at: number): string => {
  const two = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, "0")
  return `${two(at / 3_600_000)}:${two(at / 60_000 % 60)}:${two(at / 1000 % 60)}.${two(at % 1000, 3)}`
}

/**
 * The story of a run in words: the law that was broken, what was done, and the last of what was seen, at most so many
 * lines.
 */
export const tell = ({ lines, seed, steps, violation }: Outcome, atMost = 60): string => {
  const seen = lines.slice(-atMost).map(({ at, text }) => `  ${clockTime(at)}  ${text}`)
  if (violation === undefined) return [...seen, `seed ${seed}: all laws hold (${steps.length} steps)`].join("\n")
  return [
    `seed ${seed}: law ${violation.law} does not hold`,
    `  ${violation.message}`,
    "",
    `what was done (${steps.length} steps):`,
    ...steps.map((step) => `  ${clockTime(step.at)}  ${Plan.describe(step)}`),
    "",
    "what was seen:",
    ...seen,
    `  ${clockTime(violation.at)}  ${violation.message}`
  ].join("\n")
}

/** A law did not hold; `story` says how to see it again. */
export class Broken extends Data.TaggedError("Broken")<{
  readonly outcome: Outcome
  readonly story: string
}> {
  override get message(): string {
    return this.story
  }
}

export interface Seeds extends Omit<Options, "seed"> {
  /** How many. */
  readonly seeds: number
  /** The first; default 1. */
  readonly from?: number
  /** Told after each. */
  readonly onOutcome?: (outcome: Outcome) => void
}

const realTime = Clock.make()

/** Runs many seeds. Fails with the shortened story of the first that breaks a law; answers what happened how often. */
export const check = (options: Seeds): Effect.Effect<ReadonlyMap<string, number>, Broken> =>
  Effect.gen(function*() {
    const counts = new Map<string, number>()
    const from = options.from ?? 1
    for (let seed = from; seed < from + options.seeds; seed++) {
      const outcome = yield* run({ ...options, seed })
      if (outcome.violation !== undefined) {
        const shortest = yield* shorten({ ...options, seed }, outcome)
        return yield* new Broken({ outcome: shortest, story: tell(shortest) })
      }
      for (const [what, times] of outcome.counts) counts.set(what, (counts.get(what) ?? 0) + times)
      options.onOutcome?.(outcome)
      // Virtual time leaves no room for anything else in this process.
      yield* Effect.withClock(Effect.sleep("1 millis"), realTime)
    }
    return counts
  })
