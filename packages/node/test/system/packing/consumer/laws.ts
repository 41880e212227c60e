/** The test of an adapter's author, run by vitest in the project with the installed packages. */
import { Memory } from "@startlist/core"
import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"

describeSuite(StoreLaws.suite("the stores in memory", Memory.layer))
