/** More programs than in the fast tier. */
import { Embedded, Postgres } from "@startlist/postgres"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as ProgramLaws from "@startlist/model/ProgramLaws"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Layer } from "effect"

const embedded = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder }))
).pipe(Layer.provide(fixtures.seal))

const postgres = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url }))
).pipe(Layer.provide([TestDatabase.layer, fixtures.seal]))

describeSuite(ProgramLaws.suite("programs on the embedded database", embedded, {
  isExternal: true,
  numRuns: 12
}))
describeSuite(ProgramLaws.suite("programs on PostgreSQL", postgres, { isExternal: true, numRuns: 30 }))
