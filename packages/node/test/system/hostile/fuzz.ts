/**
 * `npm run fuzz -- [--minutes 10] [--seed N] [--path PATH] [--planted leak|quadratic]`: hostile requests to the real service,
 * to the inbox of the client, and to the fake, for as long as one likes. With a planted fault it must fail. Seed and
 * path repeat a counterexample.
 */
import { integer, number, parse, refuse } from "@startlist/test-support/Arguments"
import { Effect } from "effect"
import { fuzz, megabytes, replay, type Report } from "./support/Fuzzing.ts"
import { fuzzReaders } from "./support/FuzzedReaders.ts"
import { growth } from "./support/Growth.ts"
import { makeMeasuredService } from "./support/MeasuredService.ts"
import { startReaders } from "./support/Readers.ts"

const { values } = parse({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string" },
    path: { type: "string" },
    planted: { type: "string" }
  }
})
const seed = values.seed === undefined ? Math.floor(Date.now() / 1000) % 1_000_000_000 : integer("seed", values.seed)
const time = number("minutes", values.minutes) * 60_000
const { planted } = values
if (planted !== undefined && planted !== "leak" && planted !== "quadratic") {
  refuse("--planted must be leak or quadratic")
}

const line = ({ measures, memory, milliseconds, requests, rounds }: Report): string => {
  const { heapUsed = 0, rss = 0, sockets = 0 } = measures.at(-1) ?? {}
  return `${Math.round(milliseconds / 1000)} s, ${rounds} rounds, ${requests} requests answered ` +
    `(${Math.round(requests / milliseconds * 1000)}/s), heap ${megabytes(heapUsed)}, rss ${megabytes(rss)} (idle ${
      megabytes(memory.idle)
    }, peak ${megabytes(memory.peak)}), ${sockets} sockets`
}

const table = ({ seen }: Report): string =>
  [...seen].sort(([a], [b]) => a.localeCompare(b)).map(([name, statuses]) =>
    `${name.padEnd(62)} ${
      [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}×${count}`).join(" ")
    }`
  ).join("\n")

const program = Effect.gen(function*() {
  const service = yield* makeMeasuredService(planted === undefined ? {} : { PLANTED: planted })
  const { path } = values
  if (path !== undefined) {
    yield* Effect.promise(() => replay(service, seed, path))
    return console.log("no fault any more")
  }
  console.log(`seed ${seed}`)
  let next = 0
  const report = yield* Effect.promise(() =>
    fuzz(service, {
      seed,
      time: time * 3 / 4,
      judgesGrowth: true,
      onRound: (report) => {
        if (report.milliseconds < next) return
        next = report.milliseconds + 10_000
        console.log(line(report))
      }
    })
  )
  const readers = yield* Effect.acquireRelease(
    Effect.promise(() => startReaders()),
    ({ stop }) => Effect.sync(stop)
  )
  const answered = yield* Effect.promise(() => fuzzReaders(readers, { seed, time: time / 4 }))
  console.log(`${answered} requests answered by the inbox of the client and by the fake`)
  console.log(
    `${table(report)}\n${line(report)}\nthe heap grows by ${Math.round(growth(report.measures))} bytes a request`
  )
}).pipe(Effect.scoped)

Effect.runPromise(program).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})
