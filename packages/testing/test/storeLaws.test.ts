import { Memory } from "@startlist/core"
import { ImportLaws, StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"

describeSuite(StoreLaws.suite("the stores in memory", Memory.layer))

describeSuite(ImportLaws.suite("imports into the stores in memory", Memory.layer))
