import * as Loop from "./support/Loop.ts"
import * as LoopServer from "./support/LoopServer.ts"

Loop.suite("the loop with the service", LoopServer.process)
