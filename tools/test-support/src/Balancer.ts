/**
 * A minimal load balancer. It checks which nodes are ready and sends each request to the next ready node. It never sends a
 * request twice.
 */
import { setTimeout as pause } from "node:timers/promises"

/** Interval of its checks. */
const interval = 100

export interface Balancer {
  /** The address of the next ready node. Waits while there is none. */
  readonly next: () => Promise<string>
  readonly isReady: (url: string) => boolean
  readonly stop: () => Promise<void>
}

/** A balancer of the nodes at these addresses. */
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
