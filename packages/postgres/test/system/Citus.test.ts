/** The stores on a Citus cluster, at `CITUS_URL`: the coordinator, with at least two workers. */
import { Postgres } from "@startlist/postgres"
import * as CitusDatabase from "@startlist/test-support/CitusDatabase"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { ProgramLaws, StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Layer } from "effect"
import { describe, it } from "vitest"

const opened = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url, migrate: false }))
).pipe(Layer.provide(fixtures.seal))

const distributed = Layer.effectDiscard(
  Effect.flatMap(TestDatabase.TestDatabase, ({ url }) => Postgres.migrate({ url, distributed: true }))
)

const present = opened.pipe(Layer.provide(distributed), Layer.provideMerge(CitusDatabase.layer))

if (CitusDatabase.url === undefined) describe("the stores on Citus", () => it.skip("need CITUS_URL", () => {}))
else {
  describeSuite(StoreLaws.suite("the stores on Citus", present, { reopen: opened }))
  describeSuite(ProgramLaws.suite("programs on Citus", present, { isExternal: true, numRuns: 8 }))
}
