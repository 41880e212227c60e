/** Classifies failed statements by SQLSTATE. */

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
