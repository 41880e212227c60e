import * as Loop from "@startlist/test-support/Loop"
import * as LoopServer from "@startlist/test-support/LoopServer"

Loop.suite("the loop with the service", LoopServer.process)
