/** The instants of a clock. */
import * as DateTime from "effect/DateTime"

/**
 * Makes instants out of milliseconds since 1970, and gives the last one again as long as the millisecond is the same:
 * where thousands of things happen in a second, to make it costs more than most of what is done with it.
 */
export const makeInstants = (): (millis: number) => DateTime.Utc => {
  let last = DateTime.unsafeMake(0)
  return (millis) => {
    if (millis !== last.epochMillis) last = DateTime.unsafeMake(millis)
    return last
  }
}
