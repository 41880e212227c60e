/** The stores on a Citus cluster, at `CITUS_URL`: the coordinator, with at least two workers. */
import { it } from "@effect/vitest"
import { SqlClient } from "@effect/sql"
import { Application, Event, Grant, Subscription, User } from "@startlist/core"
import { Database, Migrations, Postgres } from "@startlist/postgres"
import { eventually } from "@startlist/test-support/Eventually"
import * as CitusDatabase from "@startlist/test-support/CitusDatabase"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as ProgramLaws from "@startlist/model/ProgramLaws"
import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { DateTime, Effect, Either, Fiber, Layer, Option, Runtime } from "effect"
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

/** Runs a statement. The coordinator may still have connections that its worker has ended. */
const query = (text: string) =>
  Effect.flatMap(
    TestDatabase.TestDatabase,
    ({ admin }) => Effect.orDie(Effect.retry(Effect.tryPromise(() => admin.query(text)), { times: 5 }))
  )

const fill = Effect.forEach(contents.split(";"), query)

const find = (id: User.UserId) =>
  Effect.flatMap(Grant.GrantStore, (grants) => Effect.map(grants.find(application, id), Option.getOrThrow))

const save = (id: User.UserId, change: (grant: Grant.Grant) => Partial<Grant.Change> = () => ({})) =>
  Effect.flatMap(
    Grant.GrantStore,
    (grants) =>
      Effect.flatMap(find(id), ({ grant }) =>
        grants.save({ grant: { ...grant, version: grant.version + 1 }, outgoing: [], ...change(grant) }))
  )

const together = { concurrency: "unbounded" } as const

/** The number of saves of each user. */
const saves = Effect.forEach(users, (id) => Effect.map(find(id), ({ grant }) => grant.version - 1), together)

/** Saves all grants again and again until an effect ends. Every save succeeds. */
const whileSaving = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    yield* fill
    let isRunning = true
    let rounds = 0
    const saving = Effect.gen(function*() {
      while (isRunning || rounds < 3) {
        yield* Effect.forEach(users, (id) => save(id), together)
        rounds++
      }
    })
    yield* Effect.all([saving, Effect.ensuring(effect, Effect.sync(() => void (isRunning = false)))], together)
    expect(new Set(yield* saves)).toEqual(new Set([rounds]))
  }).pipe(Effect.provide(present))

/** All shards of the grants move to one worker. */
const rebalance = whileSaving(Effect.gen(function*() {
  const { rows } = yield* query(`SELECT p.shardid, f.nodename, f.nodeport, t.nodename AS host, t.nodeport AS port
    FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node f USING (groupid),
      (SELECT * FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeport LIMIT 1) t
    WHERE s.logicalrelid = 'startlist_grants'::regclass AND f.nodeid <> t.nodeid`)
  expect(rows.length).toBeGreaterThan(0)
  yield* Effect.forEach(rows, ({ host, nodename, nodeport, port, shardid }) =>
    query(
      `SELECT citus_move_shard_placement(${shardid}, '${nodename}', ${nodeport}, '${host}', ${port}, 'block_writes')`
    ))
}))

/** A later version adds a column and an index. */
const migration = whileSaving(Effect.gen(function*() {
  const { migrations, table } = Migrations.startlist()
  const column = Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`ALTER TABLE startlist_grants ADD COLUMN extra text NOT NULL DEFAULT 'x'`
  )
  const added = yield* Migrations.run({
    table,
    migrations: {
      ...migrations,
      "9001_column": { changes: "startlist_grants", run: Effect.asVoid(column) },
      "9002_index": Migrations.index("startlist_grants_extra", "startlist_grants (extra, user_id)")
    }
  })
  expect(added).toEqual(["9001_column", "9002_index"])
}))

/**
 * A worker loses its connections again and again, until a commit is in doubt there: prepared on the worker and committed by
 * the coordinator. Each save queues one event.
 */
const doubt = Effect.gen(function*() {
  const { terminate } = yield* TestDatabase.TestDatabase
  const subscriptions = yield* Subscription.SubscriptionStore
  yield* fill
  const [createdAt, callbackUrl] = [DateTime.unsafeMake(0), "https://app.test/events"]
  yield* subscriptions.insert({ applicationId: application, callbackUrl, createdAt, updatedAt: createdAt })
  const origin = { id: Event.EventId.make("event"), time: createdAt, trace: Option.none() }
  const inDoubt = Effect.map(
    query(`SELECT sum(result::integer)::integer AS prepared
      FROM run_command_on_workers('SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()')`),
    ({ rows: [row] }) => Number(row?.prepared)
  )
  const acknowledged = users.map(() => 0)
  const round = Effect.gen(function*() {
    let isRunning = true
    const saving = Effect.forEach(users, (id, index) =>
      Effect.gen(function*() {
        while (isRunning) {
          const saved = yield* Effect.either(
            save(id, (grant) => ({ outgoing: Grant.revokeByUser(grant, origin).outgoing }))
          )
          if (Either.isRight(saved)) acknowledged[index] = (acknowledged[index] ?? 0) + 1
        }
      }), together)
    const fiber = yield* Effect.fork(saving)
    yield* Effect.sleep("100 millis")
    yield* terminate
    isRunning = false
    yield* Fiber.join(fiber)
    return yield* inDoubt
  })
  yield* Effect.repeat(round, { until: (prepared) => prepared > 0 })
  // What Citus does once a minute.
  yield* query("SELECT recover_prepared_transactions()")
  expect(yield* inDoubt).toBe(0)
  const { rows } = yield* query(
    "SELECT object_id::integer AS id, count(*)::integer FROM startlist_deliveries GROUP BY 1"
  )
  const events = new Map(rows.map(({ count, id }) => [Number(id), Number(count)]))
  const saved = yield* saves
  expect(saved).toEqual(users.map((id) => events.get(id) ?? 0))
  expect(users.filter((_, index) => (saved[index] ?? 0) < (acknowledged[index] ?? 0))).toEqual([])
}).pipe(Effect.provide(present))

/** Calls are grouped by the shards that Citus has. */
const grouping = Effect.gen(function*() {
  const { dialect: { shardOf } } = yield* Database.Database
  const { rows } = yield* query(
    `SELECT u AS id, get_shard_id_for_distribution_column('startlist_grants', u::bigint) AS shard
    FROM generate_series(1, 1000) u`
  )
  const pairs = new Set(rows.map(({ id, shard }) => `${shardOf?.(User.UserId.make(Number(id)))} ${shard}`))
  const shards = new Set([...pairs].map((pair) => pair.split(" ")[1]))
  expect(pairs.size).toBe(shards.size)
  expect(shards.size).toBeGreaterThan(1)
}).pipe(Effect.provide(present))

/** A worker is lost under load, and comes back. */
const outage = Effect.gen(function*() {
  const { close, open } = yield* TestDatabase.TestDatabase
  yield* fill
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
  const runtime = yield* Effect.runtime<Grant.GrantStore>()
  yield* Effect.promise(() => eventually(() => Runtime.runPromise(runtime)(all), Either.isRight))
  const saved = yield* saves
  expect(users.filter((_, index) => saved[index] === 1)).toEqual(reachable)
}).pipe(Effect.provide(present))

if (CitusDatabase.url === undefined) describe("the stores on Citus", () => it.skip("need CITUS_URL", () => {}))
else {
  describeSuite(StoreLaws.suite("the stores on Citus", present, { reopen: opened }))
  describeSuite(ProgramLaws.suite("programs on Citus", present, { isExternal: true, numRuns: 8 }))
  TwoNodes.suite("two nodes on Citus", Layer.orDie(database))
  describe("the workers of Citus", () => {
    it.live("calls are grouped by its shards", () => grouping)
    it.live("one is lost: requests for other shards go on, and nothing acknowledged is lost", () => outage)
    it.live("one has commits in doubt: they end as one, and nothing acknowledged is lost", () => doubt)
    it.live("shards move under load: every request succeeds", () => rebalance)
    it.live("a later version changes distributed tables under load: every request succeeds", () => migration)
  })
}
