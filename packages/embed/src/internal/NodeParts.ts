/** Stores, callbacks and secrets for Node, from plain options. */
import type { MasterKeys } from "@startlist/core/Secrets"
import * as Memory from "@startlist/core/Memory"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import type { Options } from "./NodeOptions.ts"
import type { Parts } from "./Assembly.ts"
import * as Given from "./Given.ts"

/** Loads the database only if it is used: a server in memory needs none of its modules. */
const storesOf = async (database: NonNullable<Options["database"]>, keys: MasterKeys): Promise<Parts["stores"]> => {
  const { layerOf } = await import("./DatabaseStores.ts")
  return layerOf(database, keys)
}

export const make = async (
  { callbacks: { allow, ...callbacks } = {}, database, ...options }: Options
): Promise<Parts> => {
  const keys = Given.keys(options)
  if (database !== undefined && keys === undefined) {
    throw new TypeError("key is missing: a database needs it. Make one with: openssl rand -base64 32")
  }
  return {
    callbacks: Dispatcher.layerWith({ ...callbacks, allow: Given.blocks(allow) }),
    secrets: keys === undefined ? NodeSecrets.layerDrawn : NodeSecrets.layerWith(keys),
    stores: database === undefined || keys === undefined ? Memory.layer : await storesOf(database, keys)
  }
}
