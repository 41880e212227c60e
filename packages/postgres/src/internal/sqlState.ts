/** What an SQLSTATE says about a statement that failed. */

/** The five characters, for errors of the server; none for errors of the connection. */
const sqlState = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  if ("code" in error && typeof error.code === "string" && /^[0-9][0-9A-Z]{4}$/.test(error.code)) return error.code
  return "cause" in error ? sqlState(error.cause) : undefined
}

/** Deadlocks and serialization failures: nothing was done, and it may go well the next time. */
export const isRetryable = (error: unknown): boolean => sqlState(error)?.startsWith("40") ?? false

/** The statement has waited for a lock for as long as it may. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === "55P03"

/** A table of the statement does not exist. */
export const isMissingTable = (error: unknown): boolean => sqlState(error) === "42P01"

/** The statement itself was refused, and nothing of it was done: its parts may be tried one by one. */
export const isRefused = (error: unknown): boolean => /^(?:21|22|23|40|42)/.test(sqlState(error) ?? "")
