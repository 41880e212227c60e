/** Startlist for servers on Node without Effect, with promises and plain objects. Needs no other package. */
import type { Server } from "node:http"
import * as NodeHttp from "@startlist/http/NodeHttp"
import { demand } from "./internal/Check.ts"
import * as Checks from "./internal/Checks.ts"
import * as Parts from "./internal/NodeParts.ts"
import type { Options, Startlist } from "./internal/NodeOptions.ts"
import * as Layered from "./Layered.ts"

export type * from "./internal/Calls.ts"
export type * from "./internal/NodeOptions.ts"
export type * from "./internal/Options.ts"
export type * from "./internal/Plain.ts"
export type * from "./internal/Templates.ts"

/**
 * Starts Startlist inside this process. Rejects if the database cannot be opened, or an option is wrong.
 *
 * @example
 * ```ts
 * import { Startlist } from "@startlist/embed"
 * import { createServer } from "node:http"
 *
 * const startlist = await Startlist.make({
 *   url: "https://club.example/connect",
 *   findUser: (id) => ({ id, role: "athlete", email: "alice@club.example" }),
 *   // Pages need `authentication`, too.
 *   endpoints: ["oauth", "athlete", "webhooks"]
 * })
 * createServer(startlist.listener).listen(3000)
 * ```
 */
export const make = async (options: Options): Promise<Startlist> => {
  demand(Checks.node, options, "options")
  return Layered.make(options, await Parts.make(options))
}

/**
 * Limits the time that a client has to send a request, and the number of headers. Malformed requests are answered in
 * order. Returns the server.
 */
export const harden = (server: Server): Server => NodeHttp.harden(server)
