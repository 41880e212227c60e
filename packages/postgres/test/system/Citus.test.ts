/** The stores on a Citus cluster, at `CITUS_URL`: the coordinator, with at least two workers. */
import { it } from "@effect/vitest"
import { Application, GrantStore, User } from "@startlist/core"
import { Postgres } from "@startlist/postgres"
import { eventually } from "@startlist/test-support/Eventually"
import * as CitusDatabase from "@startlist/test-support/CitusDatabase"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { ProgramLaws, StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Either, Layer, Option, Runtime } from "effect"
import { describe, expect } from "vitest"
import * as TwoNodes from "../support/twoNodes.ts"

const opened = Layer.unwrapEffect(
  Effect.map(TestDatabase.TestDatabase, ({ url }) => Postgres.layer({ url, migrate: false }))
).pipe(Layer.provide(fixtures.seal))

const distributed = Layer.effectDiscard(
  Effect.flatMap(TestDatabase.TestDatabase, ({ url }) => Postgres.migrate({ url, distributed: true }))
)

const database = Layer.provideMerge(distributed, CitusDatabase.layer)

const present = Layer.provideMerge(opened, database)

const application = Application.ApplicationId.make(1)
const users = Array.from({ length: 40 }, (_, index) => User.UserId.make(index + 1))

const contents = `
  INSERT INTO startlist_applications
      (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, signing_version, signing_secrets)
    VALUES (1, 1, 'App', '[]', false, '[]', 0, 1, '[]');
  INSERT INTO startlist_grants (application_id, user_id, active, consent, access, generation, version)
    SELECT 1, i, true, '{"role":"athlete","scope":["read"],"epoch":1,"at":0}', '', 1, 1
    FROM generate_series(1, ${users.length}) i`

const find = (id: User.UserId) =>
  Effect.flatMap(GrantStore.GrantStore, (grants) => Effect.map(grants.find(application, id), Option.getOrThrow))

const save = (id: User.UserId) =>
  Effect.flatMap(GrantStore.GrantStore, (grants) =>
    Effect.flatMap(
      find(id),
      ({ grant }) => grants.save({ grant: { ...grant, version: grant.version + 1 }, outgoing: [] })
    ))

const together = { concurrency: "unbounded" } as const

/** All shards of the grants move from one worker to another while grants are saved. */
const rebalance = Effect.gen(function*() {
  const { admin } = yield* TestDatabase.TestDatabase
  const query = (text: string) => Effect.promise(() => admin.query(text))
  for (const text of contents.split(";")) yield* query(text)
  let isMoving = true
  let rounds = 0
  const saving = Effect.gen(function*() {
    while (isMoving || rounds < 3) {
      yield* Effect.forEach(users, save, together)
      rounds++
    }
  })
  const { rows } = yield* query(`SELECT p.shardid, f.nodename, f.nodeport, t.nodename AS host, t.nodeport AS port
    FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node f USING (groupid),
      (SELECT * FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeport LIMIT 1) t
    WHERE s.logicalrelid = 'startlist_grants'::regclass AND f.nodeid <> t.nodeid`)
  const moving = Effect.forEach(
    rows,
    ({ host, nodename, nodeport, port, shardid }) =>
      query(
        `SELECT citus_move_shard_placement(${shardid}, '${nodename}', ${nodeport}, '${host}', ${port}, 'block_writes')`
      )
  )
  const moved = Effect.ensuring(moving, Effect.sync(() => void (isMoving = false)))
  yield* Effect.all([saving, moved], together)
  expect(rows.length).toBeGreaterThan(0)
  const versions = yield* Effect.forEach(users, (id) => Effect.map(find(id), ({ grant }) => grant.version), together)
  expect(new Set(versions)).toEqual(new Set([rounds + 1]))
}).pipe(Effect.provide(present))

/** A worker is lost under load, and comes back. */
const outage = Effect.gen(function*() {
  const { admin, close, open } = yield* TestDatabase.TestDatabase
  const query = (text: string) => Effect.promise(() => admin.query(text))
  for (const text of contents.split(";")) yield* query(text)
  const { rows: elsewhere } = yield* query(`SELECT u FROM generate_series(1, ${users.length}) u
    JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('startlist_grants', u::bigint)
    JOIN pg_dist_node n USING (groupid) WHERE nodeport <> (SELECT min(nodeport) FROM pg_dist_node WHERE groupid > 0)`)
  const reachable = elsewhere.map(({ u }) => u)
  expect(reachable.length).toBeGreaterThan(0)
  expect(reachable.length).toBeLessThan(users.length)
  const those = (answers: ReadonlyArray<Either.Either<unknown, unknown>>) =>
    users.filter((_, index) => Either.isRight(answers[index] ?? Either.left("none")))
  yield* close
  expect(those(yield* Effect.forEach(users, (id) => Effect.either(find(id)), together))).toEqual(reachable)
  expect(those(yield* Effect.forEach(users, (id) => Effect.either(save(id)), together))).toEqual(reachable)
  yield* open
  const all = Effect.either(Effect.forEach(users, find, together))
  const runtime = yield* Effect.runtime<GrantStore.GrantStore>()
  yield* Effect.promise(() => eventually(() => Runtime.runPromise(runtime)(all), Either.isRight))
  const versions = yield* Effect.forEach(users, (id) => Effect.map(find(id), ({ grant }) => grant.version), together)
  expect(users.filter((_, index) => versions[index] === 2)).toEqual(reachable)
}).pipe(Effect.provide(present))

if (CitusDatabase.url === undefined) describe("the stores on Citus", () => it.skip("need CITUS_URL", () => {}))
else {
  describeSuite(StoreLaws.suite("the stores on Citus", present, { reopen: opened }))
  describeSuite(ProgramLaws.suite("programs on Citus", present, { isExternal: true, numRuns: 8 }))
  TwoNodes.suite("two nodes on Citus", Layer.orDie(database))
  describe("the workers of Citus", () => {
    it.live("one is lost: requests for other shards go on, and nothing acknowledged is lost", () => outage)
    it.live("shards move under load: every request succeeds", () => rebalance)
  })
}
