/** The callers: applications and users that follow the plan and remember their answers. */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import { observed, type Prepared } from "../performed.ts"
import type { SimulationContext } from "./context.ts"
import { type Node, onNode } from "./Node.ts"
import { currentCall } from "./Oracle.ts"
import { describe, type NetworkFault, type Step } from "./plan.ts"

/** Maximum number of requests until a client gives up. */
export const maxTries = 5

/** Timeout of a caller. */
export const patience = Duration.minutes(1)

/** Performs the requests of a step, one after the other. Repeats a request that has a key and gets no answer. */
export const makeAsk = (
  context: SimulationContext,
  nodes: ReadonlyArray<Node>,
  logger: Logger.Logger<unknown, void>
) => {
  const { history, oracle, time } = context

  /** Performs the request on the next running node. Without one, there is no answer. */
  const serve = (prepared: Prepared, name: string, at: number, reply: Deferred.Deferred<() => void>) =>
    Effect.gen(function*() {
      const order = nodes.map((_, index) => nodes[(at + index) % nodes.length])
      const node = order.find((one) => one?.life !== undefined)
      if (node?.life === undefined) return
      const call = oracle.arrive(prepared.request, (history.now() + node.offset) / 1000)
      const served = Effect.gen(function*() {
        const exit = yield* Effect.exit(Effect.locally(observed(prepared), currentCall, call))
        if (Exit.isFailure(exit)) {
          if (Cause.isDie(exit.cause)) history.violate(11, `${name}: ${Cause.pretty(exit.cause)}`)
          return
        }
        const { entry, learn } = exit.value
        history.record(`${name}: node ${node.index} answers ${entry.result}`)
        oracle.answered(call, entry)
        if (entry.result !== "@startlist/core/StoreError") yield* Deferred.succeed(reply, learn)
      })
      yield* Effect.forkDaemon(onNode(context, node, node.life, logger)(served))
    })

  const send = (prepared: Prepared, name: string, node: number, network: NetworkFault) =>
    Effect.gen(function*() {
      const lost = Effect.as(Effect.sleep(patience), Option.none<() => void>())
      if (network === "request lost") return yield* lost
      yield* Effect.sleep("1 millis")
      const reply = yield* Deferred.make<() => void>()
      yield* serve(prepared, name, node, reply)
      if (network === "duplicated") {
        const again = Effect.flatMap(Deferred.make<() => void>(), (other) => serve(prepared, name, node + 1, other))
        yield* time.on(context.wire)(Effect.forkDaemon(Effect.delay(again, "3 millis")))
      }
      if (network === "answer lost") return yield* lost
      const replied = yield* Effect.timeoutOption(Deferred.await(reply), patience)
      yield* Effect.sleep("1 millis")
      return replied
    })

  return (step: Step, prepared: ReadonlyArray<Prepared>) =>
    Effect.forEach(prepared, (one) =>
      Effect.gen(function*() {
        const name = describe(step)
        const tries = "key" in one.request && one.request.key !== "" ? maxTries : 1
        for (let made = 0; made < tries; made++) {
          const replied = yield* send(one, name, step.node + made, made === 0 ? step.network : "none")
          if (Option.isNone(replied)) continue
          if (made > 0) history.count("lost answers")
          return replied.value()
        }
      }), { discard: true })
}
