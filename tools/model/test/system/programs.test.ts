import { Memory } from "@startlist/core"
import * as ProgramLaws from "../../src/ProgramLaws.ts"
import { describeSuite } from "@startlist/testing/vitest"

describeSuite(ProgramLaws.suite("more programs in memory than the fast tier has", Memory.layer, { numRuns: 150 }))
