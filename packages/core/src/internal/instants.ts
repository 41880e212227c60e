/** Instants for hot paths. */
import * as DateTime from "effect/DateTime"

/**
 * Makes instants from milliseconds since 1970. Returns the last instant again for the same millisecond: a new one costs
 * more than most of its uses.
 */
export const makeInstants = (): (millis: number) => DateTime.Utc => {
  let last = DateTime.unsafeMake(0)
  return (millis) => {
    if (millis !== last.epochMillis) last = DateTime.unsafeMake(millis)
    return last
  }
}
