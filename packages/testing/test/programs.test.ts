import { Memory } from "@startlist/core"
import { ProgramLaws } from "@startlist/testing"

ProgramLaws.suite("programs in memory", Memory.layer, { numRuns: 200 })
