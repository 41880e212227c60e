/** Limits of the excerpt of a response, which is stored for the log. */

/** Length of an excerpt in characters, and the number of bytes that it needs at most. */
export const excerptLength = 200
export const excerptBytes = 4 * excerptLength

/** Maximum wait for an excerpt in milliseconds, and the time before the deadline at which the wait ends. */
const longest = 250
const reserve = 50

/** Maximum wait for an excerpt, if the deadline is `left` milliseconds away. */
export const excerptWait = (left: number): number => Math.max(0, Math.min(longest, left - reserve))
