/** The laws of the stores, whatever an operator has set for the role and the database. */
import { Postgres } from "@startlist/postgres"
import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

/** Odd values of settings. Those that servers do not have are left out. */
const odd = {
  array_nulls: "off",
  bytea_output: "escape",
  client_encoding: "LATIN1",
  client_min_messages: "debug1",
  cursor_tuple_fraction: "1",
  datestyle: "German, YMD",
  default_transaction_deferrable: "on",
  default_transaction_isolation: "serializable",
  enable_hashjoin: "off",
  enable_nestloop: "off",
  extra_float_digits: "-15",
  from_collapse_limit: "1",
  idle_in_transaction_session_timeout: "1ms",
  idle_session_timeout: "500ms",
  intervalstyle: "sql_standard",
  jit_above_cost: "0",
  join_collapse_limit: "1",
  lock_timeout: "1ms",
  plan_cache_mode: "force_custom_plan",
  quote_all_identifiers: "on",
  row_security: "off",
  search_path: "\"Odd schema\"",
  standard_conforming_strings: "off",
  statement_timeout: "500ms",
  synchronous_commit: "off",
  timezone: "Asia/Kathmandu",
  transaction_timeout: "500ms",
  transform_null_equals: "on",
  work_mem: "64kB"
}

/** Sets them for a database and a new role, and gives the URL with that role. A second schema has tables of the same names. */
const oddly = Effect.gen(function*() {
  const { admin, url } = yield* TestDatabase.TestDatabase
  yield* Postgres.migrate({ url })
  const address = new URL(Redacted.value(url))
  const [database, role] = [address.pathname.slice(1), `odd_${address.pathname.slice(1)}`]
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      await admin.query(`CREATE ROLE ${role} SUPERUSER LOGIN; CREATE SCHEMA "Odd schema"`)
      const { rows } = await admin.query("SELECT name FROM pg_settings WHERE name = ANY ($1)", [
        Object.keys(odd).map((name) => name === "timezone" ? "TimeZone" : name)
      ])
      const known = new Set(rows.map(({ name }) => String(name).toLowerCase()))
      for (const [name, value] of Object.entries(odd)) {
        if (!known.has(name)) continue
        const set = `SET ${name} = ${name === "search_path" ? value : `'${value}'`}`
        await admin.query(`ALTER DATABASE ${database} ${set}; ALTER ROLE ${role} ${set}`)
      }
    }),
    () => Effect.promise(() => admin.query(`REASSIGN OWNED BY ${role} TO postgres; DROP ROLE ${role}`))
  )
  address.username = role
  return Redacted.make(address.href)
})

const oddStores = Layer.unwrapScoped(Effect.map(oddly, (url) => Postgres.layer({ url }))).pipe(
  Layer.provide(fixtures.seal),
  Layer.provideMerge(TestDatabase.layerEmpty)
)

describeSuite(StoreLaws.suite("the stores on a server with odd settings", oddStores, {
  groups: (about) => ["keys", "records", "at the same time", "the queue", "redelivery"].includes(about)
}))

/** A database of this isolation level. */
const isolated = (level: string) =>
  Layer.unwrapEffect(Effect.gen(function*() {
    const { admin, url } = yield* TestDatabase.TestDatabase
    const name = new URL(Redacted.value(url)).pathname.slice(1)
    yield* Effect.promise(() => admin.query(`ALTER DATABASE ${name} SET default_transaction_isolation = '${level}'`))
    return Postgres.layer({ url })
  })).pipe(Layer.provide(fixtures.seal), Layer.provideMerge(TestDatabase.layer))

for (const level of ["serializable", "repeatable read"]) {
  describeSuite(StoreLaws.suite(`the stores on a database that is ${level}`, isolated(level), {
    groups: (about) => about === "at the same time"
  }))
}
