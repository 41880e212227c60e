import { Memory } from "@startlist/core"
import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"

describeSuite(StoreLaws.suite("the stores in memory", Memory.layer))
