/**
 * Startlist as one layer for Effect servers: all services of the core, deliveries, retention and limits on guesses,
 * given stores, callbacks, secrets, users and an audit.
 */
import type { Audit } from "@startlist/core/Audit"
import type { Callbacks } from "@startlist/core/Callbacks"
import * as Retention from "@startlist/core/Retention"
import type { Secrets } from "@startlist/core/Secrets"
import * as Services from "@startlist/core/Services"
import type { Stores } from "@startlist/core/Services"
import type { UserStore } from "@startlist/core/User"
import * as Worker from "@startlist/core/Worker"
import * as Layer from "effect/Layer"
import * as FailureLimit from "./FailureLimit.ts"

/** Background work of this process. */
export interface Options {
  /** Whether this process delivers events. Default: true. At least one process must. */
  readonly worker?: boolean
  /**
   * Whether this process removes deliveries past their retention (`Policy.deliveryRetention`). Default: true. One
   * process is enough; several do no harm.
   */
  readonly retention?: boolean
}

/**
 * The services, and background work until the layer is released.
 *
 * @example
 * ```ts
 * import { Memory } from "@startlist/core"
 * import { Dispatcher } from "@startlist/dispatcher"
 * import { Embedding, NodeSecrets } from "@startlist/http"
 * import { Layer } from "effect"
 *
 * // It still needs your `UserStore`.
 * export const startlist = Embedding.layer().pipe(
 *   Layer.provide([Memory.layer, Dispatcher.layer, NodeSecrets.layerDrawn])
 * )
 * ```
 */
export const layer = (
  { retention = true, worker = true }: Options = {}
): Layer.Layer<
  Services.Services | FailureLimit.FailureLimit,
  never,
  Stores | Callbacks | Secrets | UserStore | Audit
> =>
  Layer.mergeAll(
    Services.layer,
    FailureLimit.layerMemory,
    worker ? Worker.layer : Layer.empty,
    retention ? Retention.layer : Layer.empty
  )
