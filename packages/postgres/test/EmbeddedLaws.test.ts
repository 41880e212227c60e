import * as ProgramLaws from "@startlist/model/ProgramLaws"
import { describeSuite } from "@startlist/testing/vitest"
import { quick, stores } from "./support/embeddedLaws.ts"

describeSuite(quick)

describeSuite(ProgramLaws.suite("programs on the embedded database", stores, { isExternal: true, numRuns: 8 }))
