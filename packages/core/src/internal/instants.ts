/** Instants for hot paths. */
import * as DateTime from "effect/DateTime"

/** Makes instants from milliseconds since 1970, and the same one again for the same millisecond: that is cheaper. */
export const makeInstants = (): (millis: number) => DateTime.Utc => {
  let last = DateTime.unsafeMake(0)
  return (millis) => {
    if (millis !== last.epochMillis) last = DateTime.unsafeMake(millis)
    return last
  }
}
