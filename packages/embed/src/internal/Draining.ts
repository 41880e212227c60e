/** Work in progress, which `close` completes. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as ManagedRuntime from "effect/ManagedRuntime"
import type { StoreError } from "@startlist/core/Store"
import { type Check, refuse } from "@startlist/http/Guard"
import type { Handler } from "@startlist/http/Http"
import { Busy } from "@startlist/http/Refusal"
import * as Failure from "./Failure.ts"

export interface Draining {
  readonly isClosing: () => boolean
  /** The same effect, for whose end `drain` waits. */
  readonly during: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Accepts no more work, and waits for the end of the present one, at most this time in milliseconds. A repeat waits, too. */
  readonly drain: (millis: number) => Promise<void>
}

export const make = (): Draining => {
  let running = 0
  let drained: Promise<void> | undefined
  let onIdle = (): void => {}
  const begin = Effect.sync(() => {
    running++
  })
  const end = Effect.sync(() => {
    running--
    if (running === 0) onIdle()
  })
  return {
    isClosing: () => drained !== undefined,
    during: (effect) => Effect.acquireUseRelease(begin, () => effect, () => end),
    drain: (millis) =>
      drained ??= new Promise((resolve) => {
        if (running === 0) return resolve()
        const timer = setTimeout(resolve, millis)
        onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
  }
}

/** Runs an effect as a promise, which rejects while the store is unavailable. */
export type Run = <A>(effect: Effect.Effect<A, StoreError>) => Promise<A>

/** Runs calls of the server. They reject after `drain`. */
export const runner =
  ({ during, isClosing }: Draining, runtime: ManagedRuntime.ManagedRuntime<never, unknown>): Run => async (effect) => {
    if (isClosing()) throw new Error("Startlist is closed")
    const exit = await runtime.runPromiseExit(during(effect))
    if (Exit.isSuccess(exit)) return exit.value
    throw Failure.toError(exit.cause, "Startlist could not answer: ")
  }

/** A check of tokens that answers with 503 after `drain`. */
export const check = (judge: Check, { during, isClosing }: Draining): Check => (...given) =>
  isClosing() ? Effect.succeed(refuse(new Busy())) : during(judge(...given))

/** A handler that answers requests after `drain` with 503. */
export const handler = (answer: Handler, { during, isClosing }: Draining): Handler =>
  Object.assign(
    (...[request, ...others]: Parameters<Handler>) =>
      isClosing() ? answer({ ...request, refusal: new Busy() }, ...others) : during(answer(request, ...others)),
    answer
  )
