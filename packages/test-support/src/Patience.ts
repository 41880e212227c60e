/**
 * Milliseconds after which a test takes what it waits for as hung. Far more than any wait takes, even on a machine that is
 * busy with much else: only a fault of the product or of the test lasts as long.
 */
export const patience = 180_000

/** Fails if a promise takes longer. The timer begins with it, so a paused machine delays both. */
export const within = <A>(milliseconds: number, promise: Promise<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`nothing for ${milliseconds} ms`)), milliseconds)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
