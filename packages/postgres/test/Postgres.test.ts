import { Postgres } from "@startlist/postgres"
import * as ProgramLaws from "@startlist/model/ProgramLaws"
import { ImportLaws, StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Layer } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const opened = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url }))
).pipe(Layer.provide(fixtures.seal))

const stores = Layer.provideMerge(opened, TestDatabase.layer)

describeSuite(StoreLaws.suite("the stores on PostgreSQL", stores, {
  reopen: opened,
  // In the system tier, since they take a third of all the time.
  groups: (about) => about !== "races with an erasure"
}))

describeSuite(ImportLaws.suite("imports into PostgreSQL", stores))

describeSuite(ProgramLaws.suite("programs on PostgreSQL", stores, { isExternal: true, numRuns: 15 }))
