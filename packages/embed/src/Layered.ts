/** `Startlist.make` with layers for the stores, the callbacks and the secrets. Not in the package: for our own packages and tests. */
import * as Effect from "effect/Effect"
import type { RequestListener } from "node:http"
import * as NodeHttp from "@startlist/http/NodeHttp"
import { assemble, type Parts, timeoutOf } from "./internal/Assembly.ts"
import * as Convert from "./internal/Convert.ts"
import type { Options, Startlist } from "./internal/NodeOptions.ts"

export type { Parts } from "./internal/Assembly.ts"
export * as Check from "./internal/Check.ts"

/** Options without those that the parts replace. */
export type Given = Omit<Options, "callbacks" | "database" | "key" | "retiredKeys">

/** Starts Startlist from these parts. */
export const make = async (options: Given, parts: Parts): Promise<Startlist> => {
  const capacity = options.limits?.capacity
  const limits = { ...timeoutOf(options), ...(capacity === undefined ? {} : { capacity }) }
  const { bound, checked, common } = await assemble(
    options,
    parts,
    (handler, check) => Effect.all({ guard: NodeHttp.guardWith(check), listener: NodeHttp.listener(handler, limits) })
  )
  const listener: RequestListener = bound.listener
  return {
    ...common,
    listener,
    guardListener: (requirement, handle) =>
      bound.guard(
        checked(requirement, handle),
        (incoming, outgoing, access) => handle(incoming, outgoing, Convert.toAccess(access))
      )
  }
}
