/** Failures of statements: by SQLSTATE, and by the deadline of every call, which ends it even if the database does not answer. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { StoreError } from "@startlist/core/Store"

/** The SQLSTATE of an error of the server. None for errors of the connection. */
const sqlState = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  if ("code" in error && typeof error.code === "string" && /^[0-9][0-9A-Z]{4}$/.test(error.code)) return error.code
  return "cause" in error ? sqlState(error.cause) : undefined
}

/** Deadlocks and serialization failures: nothing was done, and a retry may succeed. */
export const isRetryable = (error: unknown): boolean => sqlState(error)?.startsWith("40") ?? false

/** A value of the call is refused: data exceptions, and limits such as the size of an index entry. Nothing was done. */
export const isBadValue = (error: unknown): boolean => /^(?:22|54)/.test(sqlState(error) ?? "")

/** The statement has reached its lock timeout. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === "55P03"

/**
 * Another session has just changed the same definition: "tuple concurrently updated", an internal error without a SQLSTATE
 * of its own. Messages are translated, so this looks at the function that reports it.
 */
export const isDefinitionChanged = (error: unknown): boolean =>
  typeof error === "object" && error !== null && ("routine" in error && typeof error.routine === "string"
    ? /^simple_heap_(update|delete)$/.test(error.routine)
    : "cause" in error && isDefinitionChanged(error.cause))

/** A table of the statement does not exist. */
export const isMissingTable = (error: unknown): boolean => sqlState(error) === "42P01"

/**
 * The server has refused the statement, so its parts may be tried one by one. Class 08 is that of a coordinator whose worker
 * does not answer: parts that do not need that worker succeed. 08P01 is that of a pooler which has lost the server: the
 * outcome is unknown.
 */
export const isRefused = (error: unknown): boolean => /^(?:08(?!P01)|21|22|23|40|42)/.test(sqlState(error) ?? "")

/** Timeout of a store call, in real time for any clock of the program: leaves a second to answer within five. */
export const deadlineMillis = 4000

export const timedOut = () => new StoreError({ cause: new Error("the database did not answer in time") })

/**
 * Ends an effect at the deadline, also if its caller cannot be interrupted, or when its caller is interrupted. Its
 * statement ends by itself in the background.
 */
export const within = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDaemon(Effect.interruptible(effect)), (fiber) => {
      const ended = Effect.async<A, E | StoreError>((resume) => {
        const timer = setTimeout(() => resume(Effect.fail(timedOut())), deadlineMillis)
        fiber.addObserver((exit) => {
          clearTimeout(timer)
          resume(exit)
        })
        return Effect.sync(() => clearTimeout(timer))
      })
      return Effect.onError(restore(ended), () => Fiber.interruptFork(fiber))
    })
  )
