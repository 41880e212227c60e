/** `bun bunListener.js`. Bun has a module of its own in place of undici, in which the dispatcher finds no `Client`. */
import * as WebCallbacks from "@startlist/dispatcher/WebCallbacks"
import { allow } from "./Club.ts"
import { listen } from "./listener.ts"

listen(WebCallbacks.layerWith({ allow }))
