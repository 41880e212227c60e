/** One run of the simulation: builds the system, performs the steps, and waits until all deliveries have ended. */
import { Audit } from "@startlist/core/Audit"
import { Callbacks } from "@startlist/core/Callbacks"
import * as Memory from "@startlist/core/Memory"
import * as OAuth from "@startlist/core/OAuth"
import * as Policy from "@startlist/core/Policy"
import { Secrets } from "@startlist/core/Secrets"
import type { StoreError } from "@startlist/core/Store"
import * as Services from "@startlist/core/Services"
import * as Worker from "@startlist/core/Worker"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as RuntimeFlagsPatch from "effect/RuntimeFlagsPatch"
import { intercept } from "@startlist/testing/Faults"
import { containsSecret } from "@startlist/testing/internal/expecting"
import { chance } from "@startlist/testing/internal/hashes"
import { makeAttemptChecker } from "./AttemptChecker.ts"
import { makeDeliveryChecker } from "./DeliveryChecker.ts"
import { type Entry, History, type Violation } from "./History.ts"
import { boot, makeNode, type WorkerNeeds } from "./Node.ts"
import * as Plan from "./plan.ts"
import { Receivers } from "./Receivers.ts"
import { audit, auditConnections, type SimulationContext } from "./context.ts"
import { observe } from "./observedStores.ts"
import { act, populate } from "./operations.ts"
import { makeAsk, maxTries, patience } from "./requests.ts"
import { Oracle } from "./Oracle.ts"
import { makeProgramFixture } from "../programFixture.ts"
import { release } from "../performApplication.ts"
import * as TestSecrets from "@startlist/testing/TestSecrets"
import * as TestUsers from "@startlist/testing/TestUsers"
import * as VirtualTime from "@startlist/testing/VirtualTime"

export interface Options extends Partial<Plan.Size> {
  readonly seed: number
  /** Maximum difference between the clocks of two nodes. Default: 1.8 s. */
  readonly clockSkew?: Duration.DurationInput
  /** Default: the documented policy with few slots and rare polls. */
  readonly policy?: Policy.Policy.Service
  /** Default: that of the policy. */
  readonly replay?: Policy.Policy.Service["replay"]
  /** The stores to test, new for every run. Default: the stores in memory. */
  readonly stores?: Layer.Layer<Services.Stores>
  /** The worker to test. Default: the core's. */
  readonly worker?: Effect.Effect<never, never, WorkerNeeds>
}

/** Outcome of a run. */
export interface Outcome {
  readonly seed: number
  /** The steps of the run. */
  readonly steps: ReadonlyArray<Plan.Step>
  /** The first law that did not hold. */
  readonly violation: Violation | undefined
  /** Everything that was observed, oldest first. */
  readonly history: ReadonlyArray<Entry>
  /** Counts of `refreshes`, `delivered`, `exhausted`, `crashes`, … */
  readonly counts: ReadonlyMap<string, number>
}

/** The documented policy, with few slots, so that receivers compete, and rare polls, so that long runs are fast. */
export const policy: Policy.Policy.Service = {
  ...Policy.documented,
  deliveryConcurrency: 4,
  deliveryPerSubscription: 2,
  deliveryPoll: Duration.seconds(30)
}

export const sizeOf = (options: Options): Plan.Size => ({ ...Plan.defaultSize, ...options })

/** Performs these steps, waits until all deliveries have ended, and returns the first broken law. */
const perform = (options: Options, steps: ReadonlyArray<Plan.Step>) =>
  Effect.gen(function*() {
    const time = yield* VirtualTime.VirtualTime
    const clock = yield* Effect.clock
    const now = () => clock.unsafeCurrentTimeMillis()
    const began = now()
    const history = new History(yield* Deferred.make<Violation | undefined, StoreError>(), now)
    const size = sizeOf(options)
    const secrets = Context.get(yield* Layer.build(TestSecrets.layer(`seed${size.seed}`)), Secrets)
    const built = yield* time.external(Layer.build(options.stores ?? Memory.layer))
    const stores = intercept(built, (_, effect) => time.external(effect))
    const chosen = options.policy ?? policy
    const policyInUse = { ...chosen, replay: options.replay ?? chosen.replay }
    const logger = Logger.make<unknown, void>(({ cause, message }) =>
      history.check(10, !containsSecret([message, String(cause)]), "a secret was logged in clear")
    )
    const withPolicy = Layer.succeed(Policy.Policy, policyInUse)
    const people = yield* Layer.build(TestUsers.layer)
    const fixture = makeProgramFixture()
    const oracle = new Oracle(history, fixture, policyInUse.replay)
    const deliveries = makeDeliveryChecker(history, oracle, policyInUse)
    const wire = yield* time.startNode("wire")
    const turn = yield* Effect.makeSemaphore(1)
    const inTurn = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      time.on(wire)(Effect.acquireUseRelease(turn.take(1), () => effect, () => turn.release(1)))

    const context: SimulationContext = {
      seed: size.seed,
      time,
      policy: policyInUse,
      history,
      fixture,
      oracle,
      deliveries,
      attempts: makeAttemptChecker(history, oracle, deliveries, policyInUse),
      people,
      stores,
      get oauth(): OAuth.OAuth.Service {
        return oauth
      },
      wire,
      alone: (effect) => Effect.flatMap(Effect.forkDaemon(inTurn(effect)), Fiber.join),
      between: inTurn,
      lastFault: -Infinity,
      goodSince: new Map()
    }
    const receivers = new Receivers(context)
    const servicesOver = (reached: Context.Context<Services.Stores>) =>
      Effect.gen(function*() {
        const ports = Context.mergeAll(
          reached,
          people,
          Context.make(Secrets, secrets),
          Context.make(Audit, { record: () => Effect.void }),
          Context.make(Callbacks, receivers.reachedFrom(context, (call) => call))
        )
        const services = yield* Layer.build(
          Services.layer.pipe(Layer.provide(Layer.succeedContext(ports)), Layer.provide(withPolicy))
        )
        return Context.merge(ports, services)
      })
    const oauth = Context.get(yield* servicesOver(stores), OAuth.OAuth)
    const operator = yield* servicesOver(observe(context, wire))
    yield* Effect.provide(populate(fixture, oracle, size), operator)

    const skew = Duration.toMillis(options.clockSkew ?? "1800 millis")
    const nodes = Array.from(
      { length: size.nodes },
      (_, index) => makeNode(index, Math.round(skew * (chance(size.seed, index) - 0.5)))
    )
    const start = (node: typeof nodes[number]) =>
      boot(context, node, receivers, secrets, options.worker ?? Worker.run, logger)
    yield* Effect.forEach(nodes, start, { discard: true })
    const ask = makeAsk(context, nodes, logger)

    const running = Effect.gen(function*() {
      for (const step of steps) {
        yield* Effect.sleep(Math.max(0, began + step.at - now()))
        history.record(Plan.describe(step))
        const operation = Effect.provide(Effect.orDie(act({ context, nodes, receivers, ask }, step)), operator)
        yield* time.on(context.wire)(
          Effect.forkDaemon(Effect.catchAllCause(operation, (cause) => Deferred.failCause(history.broken, cause)))
        )
      }
      // There are no faults any more: every delivery must end.
      yield* Effect.sleep("3 minutes")
      for (const node of nodes) {
        node.faults.splice(0)
        node.crash = undefined
      }
      receivers.heal()
      yield* Effect.provide(release(fixture), operator)
      history.record("all faults are over")
      for (let waited = 0; waited < 60 && context.deliveries.pending.size > 0; waited++) {
        yield* Effect.sleep("20 seconds")
      }
      yield* context.alone(audit(context))
      const [left] = context.deliveries.pending.values()
      history.check(4, left === undefined, `delivery ${left?.id} is pending 20 minutes after the last fault`)
      if (size.scenario === "stale") {
        // Every caller has its answer, or has given up.
        yield* Effect.sleep(Duration.times(patience, maxTries))
        yield* auditConnections(context)
      }
      return undefined
    })
    const fiber = yield* Effect.fork(Effect.intoDeferred(running, history.broken))
    const violation = yield* Deferred.await(history.broken)
    yield* Fiber.interrupt(fiber)
    const relative = <A extends { readonly at: number }>(one: A): A => ({ ...one, at: one.at - began })
    const outcome: Outcome = {
      seed: size.seed,
      steps,
      violation: violation === undefined ? violation : relative(violation),
      history: history.entries.map(relative),
      counts: history.counts
    }
    return outcome
  }).pipe(
    Effect.scoped,
    Effect.orDie,
    // Spans and metrics would take a third of the time.
    Effect.withTracerEnabled(false),
    Effect.withRuntimeFlagsPatch(RuntimeFlagsPatch.disable(RuntimeFlags.RuntimeMetrics))
  )

/** The same options and steps give the same outcome. */
export const inVirtualTime = (options: Options, steps: ReadonlyArray<Plan.Step>): Effect.Effect<Outcome> =>
  VirtualTime.run(perform(options, steps), { seed: options.seed })
