import { Memory } from "@startlist/core"
import { ProgramLaws } from "@startlist/testing"

ProgramLaws.suite("more programs in memory than the fast tier has", Memory.layer, { numRuns: 150 })
