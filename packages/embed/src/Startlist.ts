/**
 * Startlist for servers without Effect, with promises and plain objects.
 *
 * It combines the services, endpoints and pages as most servers need them. Import the stores (`Memory.layer`, or those
 * of `@startlist/postgres`) and the callbacks (`Dispatcher.layer`) from their packages, and pass them as opaque values.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import type * as Guard from "@startlist/http/Guard"
import * as NodeHttp from "@startlist/http/NodeHttp"
import { assemble, type Options as WebOptions, type WebStartlist } from "./internal/Assembly.ts"
import * as Convert from "./internal/Convert.ts"
import type * as Plain from "./internal/Plain.ts"

export type { Checked, Endpoints, SignIn } from "./internal/Assembly.ts"
export type { Asked, Calls, Consents, NotAnswered, SentBack, Settings, WithSecret } from "./internal/Calls.ts"
export type * from "./internal/Plain.ts"

/** What Startlist needs of your server. */
export interface Options extends WebOptions {
  /** Time limit of a request, and maximum number of parallel requests of `listener`. The server of `handler` sets its own. */
  readonly limits?: Pick<NodeHttp.Options, "timeout" | "capacity">
}

/** Startlist in your server. */
export interface Startlist extends WebStartlist {
  /** For `http.createServer`, `app.use` of Express, or the raw request and response of Fastify. */
  readonly listener: RequestListener
  /** Guards your own route in `node:http` or Express, like `guardHandler` for Web requests. */
  readonly guardListener: <Incoming extends IncomingMessage, Outgoing extends ServerResponse>(
    requirement: Guard.Requirement,
    handle: (incoming: Incoming, outgoing: Outgoing, access: Plain.Access) => unknown
  ) => (incoming: Incoming, outgoing: Outgoing) => Promise<void>
}

/**
 * Starts Startlist inside this process. Rejects if the stores cannot be opened, or an option is wrong.
 *
 * @example
 * ```ts
 * import { Memory } from "@startlist/core"
 * import { Dispatcher } from "@startlist/dispatcher"
 * import { Startlist } from "@startlist/embed"
 * import { NodeSecrets } from "@startlist/http"
 * import { createServer } from "node:http"
 *
 * const startlist = await Startlist.make({
 *   url: "https://club.example/connect",
 *   stores: Memory.layer,
 *   secrets: NodeSecrets.layerDrawn,
 *   callbacks: Dispatcher.layer,
 *   findUser: (id) => ({ id, role: "athlete", email: "alice@club.example" }),
 *   // Pages need `authentication`, too.
 *   endpoints: ["oauth", "athlete", "webhooks"]
 * })
 * createServer(startlist.listener).listen(3000)
 * ```
 */
export const make = async (options: Options): Promise<Startlist> => {
  const { bound, common } = await assemble(
    options,
    (handler) => Effect.all({ guard: NodeHttp.guard, listener: NodeHttp.listener(handler, options.limits) })
  )
  return {
    ...common,
    listener: bound.listener,
    guardListener: (requirement, handle) =>
      bound.guard(requirement, (incoming, outgoing, access) => handle(incoming, outgoing, Convert.toAccess(access)))
  }
}
