import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Postgres } from "@startlist/postgres"
import { ProgramLaws, StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Layer } from "effect"
import * as Partitions from "../support/partitions.ts"

const opened = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url, migrate: false }))
).pipe(Layer.provide(fixtures.seal))

const divided = Layer.effectDiscard(Effect.flatMap(
  TestDatabase.TestDatabase,
  ({ admin, url }) => Effect.zipRight(Postgres.migrate({ url }), Partitions.divide(admin))
))

const stores = opened.pipe(Layer.provide(divided), Layer.provideMerge(TestDatabase.layer))

describeSuite(StoreLaws.suite("the stores on hash partitions", stores, { reopen: opened }))

describeSuite(ProgramLaws.suite("programs on hash partitions", stores, { isExternal: true, numRuns: 8 }))
