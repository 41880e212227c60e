/** This process as Node sees it: memory, processor, garbage, the delays of its loop. */
import { collectDefaultMetrics, Registry } from "prom-client"

/** Watches from now on. */
export const watch = (): Registry => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}
