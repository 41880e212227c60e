import { Embedded } from "@startlist/postgres"
import * as ProgramLaws from "@startlist/model/ProgramLaws"
import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Context, Effect, Layer } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

/** A folder that is opened and closed, in addition to the one that stays open. */
class Folder extends Context.Tag("Folder")<Folder, string>() {}

const stores = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder }))
).pipe(Layer.provide(fixtures.seal))

const reopen = Layer.unwrapEffect(Effect.map(Folder, (folder) => Embedded.layerWith({ folder }))).pipe(
  Layer.provide(fixtures.seal)
)

describeSuite(
  StoreLaws.suite(
    "the stores on the embedded database",
    Layer.merge(stores, Layer.scoped(Folder, temporaryFolder)),
    { reopen, isExclusive: true }
  )
)

describeSuite(ProgramLaws.suite("programs on the embedded database", stores, { isExternal: true, numRuns: 8 }))
