/** Delivery of events, from saved to recorded as delivered. */
import type { Contender } from "../Contender.ts"
import * as Database from "../Database.ts"
import type { Effort } from "../Measurement.ts"
import * as Process from "../Process.ts"
import * as Runtime from "../Runtime.ts"
import { compare, type Scenario } from "../Scenario.ts"
import type { Received } from "../servers/Receiver.ts"
import type { Delivered, Question } from "../workers/Delivering.ts"

const countOf = ({ isQuick }: Effort): number => isQuick ? 10_000 : 40_000

interface Program extends Runtime.Option {
  /** Name of a program in `workers/`. */
  readonly program: string
  /** The Node binary that runs it; default: the one that runs the benchmarks. */
  readonly node?: string
}

/**
 * Runs a program that delivers: a batch of `events` to warm up, and then further batches until `seconds` have been
 * measured. Returns events per second. `settle` is called after each batch is saved.
 */
export const deliver = async (
  { node, program }: Pick<Program, "node" | "program">,
  where: string,
  events: number,
  seconds: number,
  settle: () => Promise<void>
): Promise<number> => {
  const receiver = await Process.start<{ readonly port: number }>("servers/Receiver", [], "load")
  try {
    const worker = await Process.start(
      `workers/${program}`,
      [
        where,
        `http://127.0.0.1:${receiver.ready.port}/callback`
      ],
      "measured",
      { node }
    )
    try {
      let turns = -1
      for (let measured = 0;;) {
        const ask = <Answer>(question: Question) => worker.ask<Answer>(question)
        await ask({ save: events })
        await settle()
        const { millis } = await ask<Delivered>({ deliver: events })
        const { repeated, right, wrong } = await receiver.ask<Received>({})
        if (right !== events || wrong.length > 0) {
          throw new Error(`${program}: ${right} of ${events} events received; wrong: ${wrong.slice(0, 3).join("\n")}`)
        }
        if (repeated > 0) console.error(`    ${program}: ${repeated} events came again, after attempts that timed out`)
        if (++turns > 0) measured += millis / 1000
        if (measured >= seconds) return turns * events / measured
      }
    } finally {
      await worker.stop()
    }
  } finally {
    await receiver.stop()
  }
}

const bare = "undici alone"

const programs: ReadonlyArray<Program> = [
  { name: "Startlist", role: "ours", program: "DeliverStartlist" },
  { name: "graphile-worker", role: "peer", program: "DeliverGraphileWorker" },
  { name: "pg-boss", role: "peer", program: "DeliverPgBoss" },
  { name: bare, role: "limit", program: "DeliverUndici", onlyNewest: true }
]

const contender = ({ name, role, ...program }: Program): Contender => ({
  name,
  role,
  measure: async (effort) => {
    const database = await Database.fresh()
    try {
      return { perSecond: await deliver(program, database.url, countOf(effort), effort.seconds, database.settle) }
    } finally {
      await database.drop()
    }
  }
})

export const deliveries: Scenario = {
  name: "deliveries",
  title: "Delivering events, on PostgreSQL",
  about: `
Events for 100 subscriptions are saved. Then a worker, on one core, posts each to a receiver that answers 200 immediately, and
records it. Measured is the time from the start of the work until the last one is recorded; that each arrived once, signed,
is checked. Ours keeps the order of the events of an object, shares fairly between subscriptions, and records each attempt.
The peers only run the jobs: graphile-worker with a local queue of 500 and 256 at a time, pg-boss with eight loops of fetch
and complete in batches of 500. The limit posts from a list in memory, with undici, 256 at a time.
`,
  run: async (effort) => [
    await compare({
      title: "Events posted and recorded",
      contenders: Runtime.place(programs).map(contender),
      goals: Runtime.goals(programs, [
        { than: "graphile-worker", atLeast: 1.05 },
        { than: "pg-boss", atLeast: 1.05 },
        { than: bare, atLeast: 0.48 }
      ])
    }, effort)
  ]
}
