/** `Startlist` for runtimes without Node that have only Web APIs, such as the isolates of Workers. */
import * as Memory from "@startlist/core/Memory"
import * as WebCallbacks from "@startlist/dispatcher/WebCallbacks"
import * as WebSecrets from "@startlist/http/WebSecrets"
import * as Effect from "effect/Effect"
import { assemble } from "./internal/Assembly.ts"
import { demand } from "./internal/Check.ts"
import * as Checks from "./internal/Checks.ts"
import * as Given from "./internal/Given.ts"
import type { WebOptions, WebStartlist } from "./internal/Options.ts"

export type * from "./internal/Calls.ts"
export type { WebOptions as Options } from "./internal/Options.ts"
export type * from "./internal/Options.ts"
export type * from "./internal/Plain.ts"
export type * from "./internal/Templates.ts"

/**
 * Starts Startlist inside this process or isolate. Its records are in memory. Rejects if an option is wrong.
 *
 * @example
 * ```ts
 * import * as WebStartlist from "@startlist/embed/WebStartlist"
 *
 * const startlist = await WebStartlist.make({
 *   url: "https://club.example/connect",
 *   findUser: (id) => ({ id, role: "athlete", email: "alice@club.example" }),
 *   endpoints: ["oauth", "athlete", "webhooks"]
 * })
 * export default { fetch: (request: Request) => startlist.handler(request) }
 * ```
 */
export const make = async (options: WebOptions): Promise<WebStartlist> => {
  demand(Checks.web, options, "options")
  const { allow, ...callbacks } = options.callbacks ?? {}
  const keys = Given.keys(options)
  const parts = {
    stores: Memory.layer,
    callbacks: WebCallbacks.layerWith({ ...callbacks, allow: Given.blocks(allow) }),
    secrets: keys === undefined ? WebSecrets.layerDrawn : WebSecrets.layerWith(keys)
  }
  return (await assemble(options, parts, () => Effect.void)).common
}
