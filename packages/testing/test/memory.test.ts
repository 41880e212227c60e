import { Memory } from "@startlist/core"
import { ProgramLaws, StoreLaws } from "@startlist/testing"

StoreLaws.suite("the stores in memory", Memory.layer)

ProgramLaws.suite("programs in memory", Memory.layer, { numRuns: 150 })
