/** Detects whether memory grows with every request. */

/** Memory in use after a number of requests. */
export interface Point {
  readonly requests: number
  /** Bytes after a garbage collection. */
  readonly heapUsed: number
}

/** Limit in bytes per request: above the growth by compiled code and caches, below a leak of a kilobyte. */
export const most = 500

/**
 * By how many bytes a request the heap grows, once the first third is over. It is the median over successive moments:
 * something that is loaded once, at whatever moment, changes one difference of them.
 */
export const growth = (points: ReadonlyArray<Point>): number => {
  const warm = points.slice(Math.ceil(points.length / 3))
  const slopes = warm.slice(1).flatMap((to, i) => {
    const from = warm[i]
    return from === undefined ? [] : [(to.heapUsed - from.heapUsed) / (to.requests - from.requests)]
  }).sort((a, b) => a - b)
  const median = slopes[Math.floor(slopes.length / 2)]
  if (median === undefined) throw new Error(`${points.length} moments do not show any growth`)
  return median
}
