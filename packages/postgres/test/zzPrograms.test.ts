import { Embedded } from "@startlist/postgres"
import { ProgramLaws } from "@startlist/testing"
import { Effect, Layer } from "effect"
import * as fixtures from "./support/fixtures.ts"
import { temporaryFolder } from "./support/temporaryFolder.ts"

const stores = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder }))
).pipe(Layer.provide(fixtures.seal))

ProgramLaws.suite("programs on the embedded database", stores, { timeout: "60 seconds", isExternal: true, numRuns: 15 })
