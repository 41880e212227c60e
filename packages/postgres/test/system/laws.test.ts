/** Laws that take long, on PostgreSQL or on the embedded database, and more programs than in the fast tier. */
import { Postgres } from "@startlist/postgres"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as ProgramLaws from "@startlist/model/ProgramLaws"
import { ImportLaws, StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Layer } from "effect"
import { long, stores } from "../support/embeddedLaws.ts"

const opened = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url }))
).pipe(Layer.provide(fixtures.seal))

const postgres = Layer.provideMerge(opened, TestDatabase.layer)

describeSuite(long)
describeSuite(StoreLaws.suite("the stores on PostgreSQL", postgres, {
  reopen: opened,
  groups: (about) => about === "races with an erasure"
}))
describeSuite(ImportLaws.suite("imports into the embedded database", stores))
describeSuite(ProgramLaws.suite("programs on the embedded database", stores, { isExternal: true, numRuns: 12 }))
describeSuite(ProgramLaws.suite("programs on PostgreSQL", postgres, { isExternal: true, numRuns: 30 }))
