/** What a deed meets: the cast, the nodes, the receivers, and the world with its ledgers. */
import type { Ask } from "./Callers.ts"
import type { Cast } from "./Cast.ts"
import type { Node } from "./Node.ts"
import type { Receivers } from "./Receivers.ts"
import type { World } from "./World.ts"

export interface Stage {
  readonly world: World
  readonly cast: Cast
  readonly nodes: ReadonlyArray<Node>
  readonly receivers: Receivers
  readonly ask: Ask
}
