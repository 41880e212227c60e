/** The callers: applications and users who do what the plan says, and remember what they were answered. */
import type * as Services from "@startlist/core/Services"
import type { Stores } from "@startlist/core/Stores"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Logger from "effect/Logger"
import * as Predicate from "effect/Predicate"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { type Node, onNode, type WorkerNeeds } from "./Node.ts"
import type { NetworkFault } from "./plan.ts"
import type { SimulationContext } from "./context.ts"
import type { Fixture } from "./fixture.ts"
import type { Receivers } from "./Receivers.ts"

/** What a caller was answered, by a node whose clock is `offset` off, and that began at `began` in true time. */
export interface Replied<A, E> {
  readonly value: Either.Either<A, E>
  readonly began: number
  readonly offset: number
}

/** After so long a caller gives up. */
const patience = Duration.minutes(1)

const tagOf = (error: unknown): string => Predicate.hasProperty(error, "_tag") ? String(error._tag) : String(error)

/** What a node's services need nothing else for. */
export type Offered = Services.Services | WorkerNeeds | Stores

/**
 * Asks a node, or the next one that lives, over a network that may lose the request or the answer, or bring the
 * request twice. None: nobody knows what came of it.
 */
export const makeAsk =
  (context: SimulationContext, nodes: ReadonlyArray<Node>, logger: Logger.Logger<unknown, void>) =>
  <A, E>(
    request: { readonly node: number; readonly network: NetworkFault; readonly name: string },
    effect: Effect.Effect<A, E, Offered>
  ): Effect.Effect<Option.Option<Replied<A, E>>> =>
    Effect.gen(function*() {
      const { history, time } = context
      const lost = Effect.as(Effect.sleep(patience), Option.none())
      const serve = (at: number, reply: Deferred.Deferred<Replied<A, E>>) =>
        Effect.gen(function*() {
          const order = nodes.map((_, index) => nodes[(at + index) % nodes.length])
          const node = order.find((one) => one?.life !== undefined)
          if (node?.life === undefined) return
          const served = Effect.gen(function*() {
            const began = history.now()
            const exit = yield* Effect.exit(effect)
            if (Exit.isFailure(exit) && Cause.isDie(exit.cause)) {
              history.violate(11, `${request.name}: ${Cause.pretty(exit.cause)}`)
            }
            const value = Exit.match(exit, {
              onSuccess: (answer): Option.Option<Either.Either<A, E>> => Option.some(Either.right(answer)),
              onFailure: (cause) => Option.map(Cause.failureOption(cause), Either.left)
            })
            if (Option.isNone(value)) return
            history.record(
              `${request.name}: node ${node.index} answers ${
                Either.match(value.value, { onLeft: describeError, onRight: () => "ok" })
              }`
            )
            yield* Deferred.succeed(reply, { value: value.value, began, offset: node.offset })
          })
          yield* Effect.forkDaemon(onNode(context, node, node.life, logger)(served))
        })

      if (request.network === "request lost") return yield* lost
      yield* Effect.sleep("1 millis")
      const reply = yield* Deferred.make<Replied<A, E>>()
      yield* serve(request.node, reply)
      if (request.network === "duplicated") {
        const again = Effect.flatMap(Deferred.make<Replied<A, E>>(), (other) => serve(request.node + 1, other))
        yield* time.on(context.wire)(Effect.forkDaemon(Effect.delay(again, "3 millis")))
      }
      if (request.network === "answer lost") return yield* lost
      const replied = yield* Effect.timeoutOption(Deferred.await(reply), patience)
      yield* Effect.sleep("1 millis")
      return Option.filter(replied, ({ value }) => Either.isRight(value) || tagOf(value.left) !== "StoreError")
    })

const describeError = (error: unknown): string =>
  Predicate.hasProperty(error, "reason") ? `${tagOf(error)} ${String(error.reason)}` : tagOf(error)

export type Ask = ReturnType<typeof makeAsk>

/** What an operation needs: the simulation, its fixture, its nodes, its receivers, and a way to send requests. */
export interface OperationContext {
  readonly context: SimulationContext
  readonly fixture: Fixture
  readonly nodes: ReadonlyArray<Node>
  readonly receivers: Receivers
  readonly ask: Ask
}
