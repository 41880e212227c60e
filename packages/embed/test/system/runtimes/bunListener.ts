/** `bun bunListener.js`. Bun replaces undici by its own module, which does not have the `Client` of the dispatcher. */
import * as WebCallbacks from "@startlist/dispatcher/WebCallbacks"
import { allow } from "./Club.ts"
import { listen } from "./listener.ts"

listen(WebCallbacks.layerWith({ allow }))
