import { Embedded } from "@startlist/postgres"
import { ProgramLaws, StoreLaws } from "@startlist/testing"
import { Effect, Layer } from "effect"
import * as fixtures from "./support/fixtures.ts"
import { temporaryFolder } from "./support/temporaryFolder.ts"

const stores = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder }))
).pipe(Layer.provide(fixtures.seal))

StoreLaws.suite("the stores on the embedded database", stores, { timeout: "60 seconds" })

ProgramLaws.suite("programs on the embedded database", stores, { timeout: "60 seconds", isExternal: true, numRuns: 15 })
