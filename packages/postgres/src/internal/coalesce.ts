/** Makes one statement of the calls that are made in one tick, and of one alone at once. Answers are never kept. */
import type { StoreError } from "@startlist/core/Store"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import { type Database, isJoined } from "../Database.ts"
import { isRefused } from "./sqlState.ts"

/**
 * How many calls one statement carries at most. On a database elsewhere, larger batches make this process and the database
 * wait for each other: with 64 callers, 32 gave a tenth more refreshes per second than 256.
 */
const maxBatchOf = (isInProcess: boolean): number => isInProcess ? 256 : 32

/** How many statements are under way at once, on a database elsewhere: while they are, the next ones fill up. */
const maxInFlightElsewhere = 2

interface Call<In, Out> {
  readonly request: In
  readonly caller: Fiber.RuntimeFiber<unknown, unknown>
  readonly resume: (effect: Effect.Effect<Out, StoreError>) => void
}

/** Nobody waits for it. Its fiber tells: a finalizer for each call would cost more than the rest of the call. */
const isAbandoned = ({ caller }: { readonly caller: Fiber.RuntimeFiber<unknown, unknown> }) =>
  caller.unsafePoll() !== null

/**
 * A function that joins concurrent calls of it. Inside an open transaction a call is alone, on its connection.
 *
 * `run` gets the requests of a batch and answers in their order. A batch that the database refuses, or that meets a
 * bug, is run again one by one, so that a bad request harms only itself. When the database is away, all that wait fail
 * at once. With `keyOf`, two requests of one key are never in the same batch.
 *
 * With `minShare`, what waits while nothing is under way is shared out if each statement gets at least so many. Callers
 * that were answered together else come back together for ever, and this process and the database wait for each other.
 *
 * Whoever was alone the last time waits for no tick and no other fiber. On a database in this process all do, and one statement
 * goes at a time: it would end before anybody else is heard, so that everybody would be alone for ever.
 */
export const make = <In, Out>(options: {
  readonly isInProcess: Database.Service["isInProcess"]
  readonly run: (batch: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, StoreError>
  readonly keyOf?: (request: In) => string
  readonly minShare?: number
}): Effect.Effect<(request: In) => Effect.Effect<Out, StoreError>> =>
  Effect.map(Effect.runtime<never>(), (runtime) => {
    const { isInProcess, keyOf, run } = options
    const maxBatch = maxBatchOf(isInProcess)
    const { minShare = maxBatch } = options
    const maxInFlight = isInProcess ? 1 : maxInFlightElsewhere
    const runFork = Runtime.runFork(runtime)
    let waiting: Array<Call<In, Out>> = []
    let inFlight = 0
    let isScheduled = false
    // Until somebody is seen to be alone, there may be others in the same tick.
    let wasAlone = false
    /** Who is alone now, with a statement under way. */
    let alone: Pick<Call<In, Out>, "caller"> | undefined

    const take = (count: number): ReadonlyArray<Call<In, Out>> => {
      const keys = new Set<string>()
      const batch: Array<Call<In, Out>> = []
      const later: Array<Call<In, Out>> = []
      for (const call of waiting) {
        if (isAbandoned(call)) continue
        const key = keyOf?.(call.request)
        if (batch.length === count || (key !== undefined && keys.has(key))) later.push(call)
        else {
          batch.push(call)
          if (key !== undefined) keys.add(key)
        }
      }
      waiting = later
      return batch
    }

    const schedule = () => {
      if (isScheduled || waiting.length === 0 || inFlight === maxInFlight) return
      isScheduled = true
      setImmediate(flush)
    }

    const room = () => {
      const share = Math.ceil(waiting.length / maxInFlight)
      return inFlight === 0 && share >= minShare ? Math.min(share, maxBatch) : maxBatch
    }

    const flush = () => {
      isScheduled = false
      const batch = take(room())
      if (batch.length === 0) return
      wasAlone = batch.length + waiting.length + inFlight === 1 && !isSomeoneAlone()
      inFlight++
      runFork(runBatch(batch)).addObserver(() => {
        inFlight--
        schedule()
      })
      schedule()
    }

    const runBatch = (batch: ReadonlyArray<Call<In, Out>>): Effect.Effect<void> =>
      Effect.flatMap(Effect.exit(Effect.suspend(() => run(batch.map(({ request }) => request)))), (exit) => {
        if (Exit.isSuccess(exit)) {
          batch.forEach(({ resume }, index) => resume(answer(exit.value[index])))
          return Effect.void
        }
        const isOfBatch = isOurs(exit.cause)
        if (isOfBatch && batch.length > 1) return Effect.forEach(batch, (call) => runBatch([call]), { discard: true })
        const failed = isOfBatch ? batch : [...batch, ...waiting.splice(0)]
        const failure = Effect.failCause(exit.cause)
        failed.forEach(({ resume }) => resume(failure))
        return Effect.void
      })

    const isSomeoneAlone = () => alone !== undefined && !isAbandoned(alone)

    const isFree = () => !isInProcess && wasAlone && inFlight === 0 && waiting.length === 0 && !isSomeoneAlone()

    /** The caller runs the statement itself: another fiber, and to wait for it, would cost as much as all else here. */
    const runAlone = (request: In, caller: Call<In, Out>["caller"]): Effect.Effect<Out, StoreError> => {
      alone = { caller }
      return Effect.matchCauseEffect(Effect.suspend(() => run([request])), {
        onSuccess: ([out]) => {
          alone = undefined
          return answer(out)
        },
        onFailure: (cause) => {
          alone = undefined
          const failure = Effect.failCause(cause)
          if (!isOurs(cause)) waiting.splice(0).forEach(({ resume }) => resume(failure))
          return failure
        }
      })
    }

    const answer = (out: Out | undefined): Effect.Effect<Out> =>
      out === undefined ? Effect.dieMessage("a batch answered too little") : Effect.succeed(out)

    return (request) =>
      Effect.withFiberRuntime((caller) => {
        if (isJoined(caller)) return Effect.flatMap(run([request]), ([out]) => answer(out))
        if (isFree()) return runAlone(request, caller)
        return Effect.async((resume) => {
          waiting.push({ request, caller, resume })
          schedule()
        })
      })
  })

/** Whether a statement failed for what was asked, and not for the database. */
const isOurs = (cause: Cause.Cause<StoreError>): boolean =>
  cause._tag === "Fail" ? isRefused(cause.error) : Cause.isDie(cause)
