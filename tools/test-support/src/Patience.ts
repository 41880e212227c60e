/**
 * Timeout of a wait in a test, in milliseconds. It is far longer than any wait, even on a busy machine, so only a fault of the
 * product or of the test reaches it.
 */
export const patience = 180_000

/** Fails if a promise takes longer. The timer begins with it, so a paused machine delays both. */
export const within = <A>(milliseconds: number, promise: Promise<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`nothing for ${milliseconds} ms`)), milliseconds)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
