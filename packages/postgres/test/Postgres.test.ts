import { Postgres } from "@startlist/postgres"
import { ProgramLaws, StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Layer } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const stores = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layerWith({ url }))
).pipe(Layer.provide([TestDatabase.layer, fixtures.seal]))

describeSuite(StoreLaws.suite("the stores on PostgreSQL", stores))

describeSuite(ProgramLaws.suite("programs on PostgreSQL", stores, { isExternal: true, numRuns: 15 }))
