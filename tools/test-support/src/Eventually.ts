/** Waits for a condition in another process. It checks rarely, to leave the processor to that process. */
import { patience } from "./Patience.ts"

const interval = 100

/** Checks every 100 ms until the condition is true, and returns the value. */
export const eventually = async <A>(look: () => Promise<A>, isWanted: (seen: A) => boolean): Promise<A> => {
  const end = Date.now() + patience
  for (;;) {
    const seen = await look()
    if (isWanted(seen)) return seen
    if (Date.now() > end) throw new Error(`it is still ${JSON.stringify(seen)}`)
    await new Promise((resolve) => setTimeout(resolve, interval))
  }
}
