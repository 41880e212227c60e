/** The stores on the embedded database, for the laws of both tiers. */
import { Embedded } from "@startlist/postgres"
import { StoreLaws } from "@startlist/testing"
import { Context, Effect, Layer } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

/** A folder that is opened and closed, in addition to the one that stays open. */
class Folder extends Context.Tag("Folder")<Folder, string>() {}

export const stores = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Embedded.layerWith({ folder }))
).pipe(Layer.provide(fixtures.seal))

const reopen = Layer.unwrapEffect(Effect.map(Folder, (folder) => Embedded.layerWith({ folder }))).pipe(
  Layer.provide(fixtures.seal)
)

/** Laws with many rounds. The fast tier checks them on PostgreSQL, which runs the same SQL. */
const isLong = (about: string): boolean =>
  ["all or nothing", "races", "races with an erasure", "random programs"].includes(about)

const suite = (groups: (about: string) => boolean) =>
  StoreLaws.suite("the stores on the embedded database", Layer.merge(stores, Layer.scoped(Folder, temporaryFolder)), {
    reopen,
    isExclusive: true,
    groups
  })

export const quick = suite((about) => !isLong(about))
export const long = suite(isLong)
