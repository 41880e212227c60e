import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as TwoNodes from "./support/twoNodes.ts"

TwoNodes.suite("two nodes on one PostgreSQL", TestDatabase.layer)
