/** Waiting for what another process does: asking again and again costs it the time that it needs. */
import { patience } from "./Patience.ts"

const interval = 100

/** Looks every 100 ms until it sees what is wanted; answers that. */
export const eventually = async <A>(look: () => Promise<A>, isWanted: (seen: A) => boolean): Promise<A> => {
  const end = Date.now() + patience
  for (;;) {
    const seen = await look()
    if (isWanted(seen)) return seen
    if (Date.now() > end) throw new Error(`it is still ${JSON.stringify(seen)}`)
    await new Promise((resolve) => setTimeout(resolve, interval))
  }
}
