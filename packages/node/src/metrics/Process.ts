/** Node's metrics of this process: memory, CPU, garbage collection, event loop delays. */
import { collectDefaultMetrics, Registry } from "prom-client"

/** Starts to collect. */
export const watch = (): Registry => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}
