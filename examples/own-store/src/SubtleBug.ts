/** The same stores with a bug: one word is missing in their tables. */
import type { Layer } from "effect"
import type { Services, Store } from "@startlist/core"
import { layerWith as goodLayerWith, type Options } from "./OwnStores.ts"
import { tables } from "./Sqlite.ts"

/**
 * `integer primary key` looks right, and works: SQLite numbers the rows. But it gives the number of the newest row away
 * again when that row is deleted.
 */
export const layerWith = (options: Omit<Options, "tables">): Layer.Layer<Services.Stores, Store.StoreError> =>
  goodLayerWith({
    ...options,
    tables: tables.replace(/(subscriptions \(\s*id integer primary key) autoincrement/, "$1")
  })
