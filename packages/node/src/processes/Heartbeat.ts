/** Heartbeats: whether the members of a node answer the primary. A member that hangs, such as a stopped one, is killed. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { Counter, Gauge, Registry } from "prom-client"
import type { Link } from "./Link.ts"
import * as Messages from "./ProcessMessages.ts"

/** Interval between two questions, and the timeout of an answer. */
const interval = Duration.seconds(5)

/** Number of questions in a row without an answer after which a member hangs: busy ones answer late. */
const maxMissed = 3

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

/** Asks a member again and again. Succeeds when it hangs, or has ended. `onAnswer` is called for each answer. */
export const untilHung = ({ ask }: Pick<Link, "ask">, onAnswer: () => void): Effect.Effect<void> =>
  ask(Messages.Beat.make({}), Duration.toMillis(interval)).pipe(
    Effect.retry({ times: maxMissed - 1 }),
    Effect.tap(() => Effect.sync(onAnswer)),
    Effect.repeat(Schedule.spaced(interval)),
    Effect.ignore
  )
