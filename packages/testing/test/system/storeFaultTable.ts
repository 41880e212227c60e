/**
 * `npm run faults [-- WORD… --times N --postgres]`: plants faults in copies of the stores in memory, or on PostgreSQL, and
 * prints which law of the stores notices each of them first. Status 1 if one is not noticed.
 */
import { Postgres } from "@startlist/postgres"
import { integer, parse } from "@startlist/test-support/Arguments"
import * as PostgresServer from "@startlist/test-support/PostgresServer"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { Effect, Layer, Redacted } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type StoreFault, storeFaults } from "../storeFaults.ts"
import { subtleStoreFaults } from "../subtleStoreFaults.ts"
import { firstBroken, inMemory, isHarmless, Storage, suiteOf } from "./support/plantedStores.ts"

const { positionals, values } = parse({
  allowPositionals: true,
  options: { times: { type: "string", default: "1" }, postgres: { type: "boolean", default: false } }
})

const isWanted = (fault: StoreFault): boolean =>
  !isHarmless(fault, values.postgres ? "PostgreSQL" : "memory") &&
  (positionals.length === 0 || positionals.some((word) => fault.kind === word || fault.name.includes(word)))

const run = async (newStorage: () => Layer.Layer<Storage>): Promise<void> => {
  const times = integer("times", values.times, 1)
  let missed = 0
  console.log("| kind | fault | law that notices it | noticed | seconds |\n| --- | --- | --- | --- | --- |")
  for (const fault of [...storeFaults, ...subtleStoreFaults].filter(isWanted)) {
    const began = performance.now()
    const laws = new Set<string>()
    let noticed = 0
    for (let time = 0; time < times; time++) {
      const law = await firstBroken(suiteOf(fault, newStorage()))
      if (law === undefined) continue
      noticed++
      laws.add(law)
    }
    if (noticed < times) missed++
    const seconds = ((performance.now() - began) / 1000 / times).toFixed(1)
    console.log(`| ${fault.kind} | ${fault.name} | ${[...laws].join("; ")} | ${noticed} of ${times} | ${seconds} |`)
  }
  if (missed > 0) {
    console.log(`${missed} faults were not noticed every time`)
    process.exitCode = 1
  }
}

if (values.postgres) {
  const folder = mkdtempSync(join(tmpdir(), "faults-"))
  const server = await PostgresServer.make({ folder, settings: { fsync: "off" } })
  try {
    const url = Redacted.make(server.urlOf("postgres"))
    // Tables of its own each time: records of a broken store would disturb the next one, and identifiers begin with 1.
    let made = 0
    const newStorage = () => {
      const options = { url, prefix: `fault_${++made}_` }
      const stores = Postgres.layer(options).pipe(Layer.provide(fixtures.seal), Layer.orDie)
      return Layer.effect(
        Storage,
        Effect.as(Effect.promise(() => Effect.runPromise(Postgres.migrate(options))), stores)
      )
    }
    await run(newStorage)
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
} else {
  await run(() => inMemory)
}
