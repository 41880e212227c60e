/** Metrics of processes, by prom-client. Loaded on demand: a bundle imports its CommonJS only statically. */
import * as Effect from "effect/Effect"
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client"

/** Starts to collect Node's metrics of this process: memory, CPU, garbage collection, event loop delays. */
export const watch = (): Registry => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** Metrics of one place of a node, which its successive processes share. */
export interface Place {
  /** Its process has answered. */
  readonly answered: () => void
  /** Its process is replaced because it has ended, or because it hung. */
  readonly replaced: (reason: "ended" | "hung") => void
  /** The metrics as Prometheus text. */
  readonly page: Effect.Effect<string>
}

/** Metrics of a place, with these labels. They exist from the start, so that an alert sees the first replacement. */
export const makePlace = (labels: Readonly<Record<string, string>>): Place => {
  const registry = new Registry()
  registry.setDefaultLabels(labels)
  let last = performance.now()
  const registers = [registry]
  new Gauge({
    name: "startlist_process_answer_age_seconds",
    help: "Time since this process has answered the first process of its node",
    registers,
    collect() {
      this.set((performance.now() - last) / 1000)
    }
  })
  const replacements = new Counter({
    name: "startlist_processes_replaced_total",
    help: "Replacements of this process, because it ended or hung",
    labelNames: ["reason"],
    registers
  })
  for (const reason of ["ended", "hung"]) replacements.inc({ reason }, 0)
  return {
    answered: () => {
      last = performance.now()
    },
    replaced: (reason) => replacements.inc({ reason }),
    page: Effect.promise(() => registry.metrics())
  }
}
