import { Embedded } from "@startlist/postgres"
import { ProgramLaws, StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Layer } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const stores = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder }))
).pipe(Layer.provide(fixtures.seal))

describeSuite(StoreLaws.suite("the stores on the embedded database", stores))

describeSuite(ProgramLaws.suite("programs on the embedded database", stores, { isExternal: true, numRuns: 8 }))
