/** A node of the simulated system: its services, its worker, its clock, and the network between it and the stores. */
import { Audit } from "@startlist/core/Audit"
import { Callbacks } from "@startlist/core/Callbacks"
import type { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import type { Stores } from "@startlist/core/Services"
import { Policy } from "@startlist/core/Policy"
import { Secrets } from "@startlist/core/Secrets"
import * as Services from "@startlist/core/Services"
import { StoreError } from "@startlist/core/Store"
import type { TestUsers } from "@startlist/testing/TestUsers"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as HashSet from "effect/HashSet"
import * as Layer from "effect/Layer"
import type * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import { type Fault, inject } from "@startlist/testing/Faults"
import { type Around, intercept, type StoreOperation } from "@startlist/testing/Faults"
import type { Node as Process } from "@startlist/testing/VirtualTime"
import { never } from "@startlist/testing/internal/eventLoop"
import { leaksSecret } from "@startlist/testing/internal/expecting"
import { chance } from "@startlist/testing/internal/hashes"
import type { CrashMoment } from "./plan.ts"
import type { Receivers } from "./Receivers.ts"
import type { SimulationContext } from "./context.ts"
import { observe } from "./observedStores.ts"

/** Services that the worker of a node needs. */
export type WorkerNeeds = Audit | DeliveryQueue | Callbacks | Secrets

/** A running node. A restart after a crash makes another one. */
export interface Life {
  readonly process: Process
  readonly services: Context.Context<Services.Services | WorkerNeeds | Stores | TestUsers>
}

/** A node of the system, running or not. */
export interface Node {
  readonly index: number
  /** Milliseconds by which its clock is ahead of the true time. */
  readonly offset: number
  life: Life | undefined
  /** Faults that wait for their call. */
  readonly faults: Array<{ readonly operation: StoreOperation | undefined; readonly fault: Fault; left: number }>
  /** The node dies at the `call`th call from now. */
  crash: { call: number; readonly moment: CrashMoment; readonly afterMs: number; readonly downMs: number } | undefined
}

export const makeNode = (index: number, offset: number): Node => ({
  index,
  offset,
  life: undefined,
  faults: [],
  crash: undefined
})

/** Timeout of a database driver. A statement that was sent may still arrive. */
const patience = Duration.seconds(20)

/** Runs an effect with the clock, the process and the log of this node. */
export const onNode =
  (context: SimulationContext, node: Node, life: Life, logger: Logger.Logger<unknown, void>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.withRandom(Random.make(`${context.seed}:${node.index}`)),
      Effect.locally(FiberRef.currentLoggers, HashSet.make(logger)),
      Effect.provide(life.services),
      context.time.on(life.process)
    )

/** Kills the node between two steps, and restarts it later. */
const kill = (
  context: SimulationContext,
  node: Node,
  life: Life,
  downMs: number,
  revive: (node: Node) => Effect.Effect<void>
) =>
  Effect.gen(function*() {
    if (node.life !== life) return
    node.life = undefined
    node.crash = undefined
    context.lastFault = context.history.now() + downMs
    context.history.record(`node ${node.index} dies`)
    yield* context.time.on(context.wire)(Effect.forkDaemon(Effect.delay(revive(node), downMs)))
    yield* context.time.kill(life.process)
    // A killed node does not get beyond this line.
    yield* Effect.yieldNow()
  })

/** Starts a node, or starts it again: services over the network, and the worker. */
export const boot = (
  context: SimulationContext,
  node: Node,
  receivers: Receivers,
  secrets: Secrets.Service,
  worker: Effect.Effect<never, never, WorkerNeeds>,
  logger: Logger.Logger<unknown, void>
): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { history, time } = context
    const process = yield* time.startNode(`node ${node.index}`, node.offset)
    const revive = (one: Node): Effect.Effect<void> => boot(context, one, receivers, secrets, worker, logger)

    const die = Effect.suspend(() =>
      node.life === undefined ? Effect.void : kill(context, node, node.life, node.crash?.downMs ?? 1, revive)
    )
    /** A call at which the node may die. A request that has left the node still takes effect. */
    const crashing = <A, E>(call: Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        if (node.crash === undefined || --node.crash.call > 0) return call
        const { afterMs, moment } = node.crash
        history.count(`crashes ${moment}`)
        const during = Effect.zipRight(Effect.forkDaemon(time.on(context.wire)(call)), Effect.sleep(afterMs))
        const first = moment === "before" ? Effect.void : moment === "after" ? Effect.exit(call) : during
        return first.pipe(Effect.zipRight(die), Effect.zipRight(never))
      })

    const take = (operation: StoreOperation): Fault | undefined => {
      const index = node.faults.findIndex((one) => one.operation === undefined || one.operation === operation)
      const found = node.faults[index]
      if (found === undefined) return undefined
      if (--found.left <= 0) node.faults.splice(index, 1)
      history.record(`${operation} of node ${node.index}: ${found.fault._tag}`)
      history.count("store faults")
      context.lastFault = history.now() + Duration.toMillis("1 minute")
      return found.fault
    }

    let chosen: Fault | undefined
    const observed = inject(observe(context, process), () => chosen)
    /** The network. A request that has left the node arrives, also if the node dies. */
    const network: Around = <A, E>(
      operation: StoreOperation,
      effect: Effect.Effect<A, E | StoreError>,
      input: ReadonlyArray<unknown>
    ) =>
      crashing(Effect.gen(function*() {
        history.check(10, !leaksSecret(operation, input), `${operation} is given a secret in clear`)
        const fault = take(operation)
        const request = Effect.sleep(latency(context, node, 0)).pipe(
          Effect.zipRight(
            time.on(context.wire)(Effect.suspend(() => {
              chosen = fault
              return effect
            }))
          ),
          Effect.zipLeft(Effect.sleep(latency(context, node, 1)))
        )
        if (fault === undefined && node.crash === undefined) return yield* request
        const sent = yield* time.on(context.wire)(Effect.forkDaemon(request))
        return yield* Effect.timeoutFail(Fiber.join(sent), {
          duration: patience,
          onTimeout: () => new StoreError({ cause: "no answer" })
        })
      }))

    const callbacks = receivers.reachedFrom(process, crashing)
    const ports = intercept(observed, network).pipe(
      Context.add(Audit, { record: () => Effect.void }),
      Context.add(Callbacks, callbacks),
      Context.add(Secrets, secrets),
      Context.merge(context.people),
      Context.add(Policy, context.policy)
    )
    const built = yield* Layer.buildWithScope(
      Services.layer.pipe(Layer.provide(Layer.succeedContext(ports))),
      yield* Scope.make()
    )
    const life: Life = { process, services: Context.merge(ports, built) }
    node.life = life
    history.record(`node ${node.index} starts`)
    // Interruptible: a node that died in a claim is restarted by a fiber that cannot be interrupted.
    yield* Effect.forkDaemon(Effect.interruptible(onNode(context, node, life, logger)(worker)))
  })

/** Usually one or two milliseconds. It depends on the time only, so that a shrunk run has the same latencies. */
const latency = (context: SimulationContext, node: Node, leg: number): Duration.Duration =>
  Duration.millis(1 + Math.floor(8 * chance(context.seed, node.index, context.history.now(), leg) ** 6))
