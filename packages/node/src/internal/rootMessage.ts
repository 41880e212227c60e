/** Messages of nested errors: our errors wrap those of the driver, which wrap those of the network. */

/** The message of the innermost cause, such as `connect ECONNREFUSED 127.0.0.1:5432`. */
export const rootMessage = (error: unknown): string => {
  let inner = error
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause
  if (inner instanceof AggregateError && inner.errors.length > 0) return rootMessage(inner.errors[0])
  return inner instanceof Error ? inner.message : String(inner)
}
