import { Embedded } from "@startlist/postgres"
import { ProgramLaws, StoreLaws } from "@startlist/testing"
import { Effect, Layer } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const stores = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder }))
).pipe(Layer.provide(fixtures.seal))

StoreLaws.suite("the stores on the embedded database", stores, { timeout: "60 seconds" })

ProgramLaws.suite("programs on the embedded database", stores, { timeout: "60 seconds", isExternal: true, numRuns: 8 })
