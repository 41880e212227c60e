/** Stores on PostgreSQL, or in a folder. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { MasterKeys } from "@startlist/core/Secrets"
import type { Stores } from "@startlist/core/Services"
import type { Database } from "@startlist/postgres/Database"
import * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import * as SealedSecrets from "@startlist/postgres/SealedSecrets"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import type { Options } from "./NodeOptions.ts"

/** The image of an empty database. Found by the name of the package, because a bundle moves this module. */
const image = () => ({
  folder: join(dirname(createRequire(import.meta.url).resolve("@startlist/embed/package.json")), "dist"),
  fingerprint: ""
})

/** With another key, no event could be signed, and every refresh token would be unknown. */
const checkKey = Layer.effectDiscard(
  Effect.filterOrDie(
    SealedSecrets.look(100),
    ({ closed, total }) => total === 0 || closed.length < total,
    () => new TypeError("key: opens none of the secrets in this database. Give the key that sealed them")
  )
)

/** The embedded database, whose package is optional. */
const embedded = async (folder: string): Promise<Layer.Layer<Stores | Database, unknown, Seal.Seal>> => {
  const { layerWith } = await import("@startlist/postgres/Embedded").catch((cause) => {
    throw new Error("database: a folder needs the package @electric-sql/pglite. Install it", { cause })
  })
  return layerWith({ folder, image: image() })
}

export const layerOf = async (
  database: NonNullable<Options["database"]>,
  keys: MasterKeys
): Promise<Layer.Layer<Stores, unknown>> => {
  const stores: Layer.Layer<Stores | Database, unknown, Seal.Seal> = "folder" in database
    ? await embedded(database.folder)
    : Postgres.layer({ ...database, url: Redacted.make(database.url) })
  return Layer.provide(Layer.provideMerge(checkKey, stores), Seal.layerWith(keys))
}
