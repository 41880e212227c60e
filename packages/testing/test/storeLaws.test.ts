import { Memory } from "@startlist/core"
import { StoreLaws } from "@startlist/testing"

StoreLaws.suite("the stores in memory", Memory.layer)
