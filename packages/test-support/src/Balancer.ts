/**
 * A load balancer as small as one can be: asks each node whether it is ready, sends to those that are, in turn, and
 * never sends a request twice.
 */
import { setTimeout as pause } from "node:timers/promises"

/** How often it asks. */
const interval = 100

export interface Balancer {
  /** The next node's address. Waits while none is ready. */
  readonly next: () => Promise<string>
  readonly isReady: (url: string) => boolean
  readonly stop: () => Promise<void>
}

/** Balances over the nodes at these addresses. */
export const balance = (urls: ReadonlyArray<string>): Balancer => {
  const ready = new Set<string>()
  let isOver = false
  let turn = 0

  const ask = async (url: string): Promise<void> => {
    const signal = AbortSignal.timeout(2000)
    const isReady = await fetch(`${url}/readyz`, { signal }).then(({ ok }) => ok, () => false)
    if (isReady) ready.add(url)
    else ready.delete(url)
  }
  const watch = async (url: string): Promise<void> => {
    while (!isOver) {
      await ask(url)
      await pause(interval)
    }
  }
  const watching = Promise.all(urls.map(watch))

  return {
    isReady: (url) => ready.has(url),
    next: async () => {
      while (ready.size === 0) await pause(interval)
      const nodes = [...ready]
      return nodes[turn++ % nodes.length] ?? ""
    },
    stop: async () => {
      isOver = true
      await watching
    }
  }
}
