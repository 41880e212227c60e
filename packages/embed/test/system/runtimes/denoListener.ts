/** `deno run --allow-all denoListener.js` */
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import { allow } from "./Club.ts"
import { listen } from "./listener.ts"

listen(Dispatcher.layerWith({ allow }))
