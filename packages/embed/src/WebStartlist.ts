/**
 * `Startlist` for runtimes without Node that have only Web APIs, such as the isolates of Workers.
 *
 * Imports nothing of Node. The options are those of `Startlist.make`, with layers that import nothing of Node either:
 * `Memory.layer`, `WebSecrets` and `WebCallbacks`.
 */
import * as Effect from "effect/Effect"
import { assemble, type Options, type WebStartlist } from "./internal/Assembly.ts"

export type { Checked, Endpoints, Options, SignIn, WebStartlist } from "./internal/Assembly.ts"
export type { Asked, Calls, Consents, NotAnswered, SentBack, Settings, WithSecret } from "./internal/Calls.ts"
export type * from "./internal/Plain.ts"

/**
 * Starts Startlist inside this process or isolate. Rejects if the stores cannot be opened, or an option is wrong.
 *
 * @example
 * ```ts
 * import * as Memory from "@startlist/core/Memory"
 * import * as WebCallbacks from "@startlist/dispatcher/WebCallbacks"
 * import * as WebStartlist from "@startlist/embed/WebStartlist"
 * import * as WebSecrets from "@startlist/http/WebSecrets"
 *
 * const startlist = await WebStartlist.make({
 *   url: "https://club.example/connect",
 *   stores: Memory.layer,
 *   secrets: WebSecrets.layerDrawn,
 *   callbacks: WebCallbacks.layer,
 *   findUser: (id) => ({ id, role: "athlete", email: "alice@club.example" }),
 *   endpoints: ["oauth", "athlete", "webhooks"]
 * })
 * export default { fetch: (request: Request) => startlist.handler(request) }
 * ```
 */
export const make = async (options: Options): Promise<WebStartlist> =>
  (await assemble(options, () => Effect.void)).common
