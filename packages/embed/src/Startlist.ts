/**
 * Startlist for servers that do not run on Effect: options in, promises and plain objects out.
 *
 * It is the same services, endpoints and pages, put together in the way that most servers want. The stores and what
 * calls callbacks are chosen from the packages that have them, as opaque values: `Memory.layer` or those of
 * `@startlist/postgres`, and `Dispatcher.layer`.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import type * as Guard from "@startlist/http/Guard"
import * as NodeHttp from "@startlist/http/NodeHttp"
import { assemble, type Options as WebOptions, type WebStartlist } from "./internal/Assembly.ts"
import * as Plain from "./internal/Plain.ts"

export type { Checked, Endpoints, SignIn } from "./internal/Assembly.ts"
export type { Calls, Settings, WithSecret } from "./internal/Calls.ts"
export type { Asked, Consents, NotAnswered, SentBack } from "./internal/Consents.ts"
export type * from "./internal/Plain.ts"

export interface Options extends WebOptions {
  /** Time limit of a request, and maximum number of parallel requests of `listener`. The server of `handler` sets its own. */
  readonly limits?: Pick<NodeHttp.Options, "timeout" | "capacity">
}

export interface Startlist extends WebStartlist {
  /** For `http.createServer`, `app.use` of Express, or the raw request and response of Fastify. */
  readonly listener: RequestListener
  /** Guards a route of the server's own in `node:http` or Express, as `guardHandler` guards one for Web requests. */
  readonly guardListener: <Incoming extends IncomingMessage, Outgoing extends ServerResponse>(
    requirement: Guard.Requirement,
    handle: (incoming: Incoming, outgoing: Outgoing, access: Plain.Access) => unknown
  ) => (incoming: Incoming, outgoing: Outgoing) => Promise<void>
}

/** Starts Startlist inside this process. Rejected if the stores cannot be opened, or an option is wrong. */
export const make = async (options: Options): Promise<Startlist> => {
  const { bound, common } = await assemble(
    options,
    (handler) => Effect.all({ guard: NodeHttp.guard, listener: NodeHttp.listener(handler, options.limits) })
  )
  return {
    ...common,
    listener: bound.listener,
    guardListener: (requirement, handle) =>
      bound.guard(requirement, (incoming, outgoing, access) => handle(incoming, outgoing, Plain.toAccess(access)))
  }
}
