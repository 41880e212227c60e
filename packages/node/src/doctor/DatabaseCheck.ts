/** Checks the database for `startlist doctor`: clock, tables, writes, sizes, the cluster and the stored secrets. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoreError } from "@startlist/core/Store"
import * as Citus from "@startlist/postgres/Citus"
import { clockDifference, Database } from "@startlist/postgres/Database"
import type { Status } from "@startlist/postgres/Migrations"
import * as SealedSecrets from "@startlist/postgres/SealedSecrets"
import { DatabaseHealth, examine, levelOf, tooSlow } from "../data/DatabaseHealth.ts"
import type { Keys } from "../data/Keys.ts"
import * as Storage from "../data/Storage.ts"
import type { Configuration } from "../settings/Configuration.ts"
import { rootMessage } from "../telemetry/Log.ts"
import { bad, type Finding, good, warning } from "./Finding.ts"

/** Advice by what PostgreSQL, a pooler or the network says. The first that matches counts. */
const advices: ReadonlyArray<readonly [said: RegExp, advice: string]> = [
  [
    new RegExp(tooSlow),
    "look for a synchronous standby that is missing (synchronous_standby_names), a lock, or a server that is overloaded"
  ],
  [/No space left|disk/i, "free space on the disk of the database"],
  [
    /permission denied/,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO this user"
  ],
  [
    /no writes|read-only/,
    "name the primary in DATABASE_URL, not a standby; or set default_transaction_read_only = off"
  ],
  [/PREPARED_STATEMENTS/, "or use the pooler in session mode, which is faster"],
  [/has the encoding/, "then move the data with pg_dump and psql, and name the new database in DATABASE_URL"],
  [/transactions of the database are/, "run this statement, then reconnect the pooler to the database"],
  [
    /unsupported startup parameter/,
    "remove this parameter from DATABASE_URL, and set it for the user: ALTER ROLE … SET …"
  ],
  [
    /too many (?:clients|connections)|connection slots are reserved|no more connections allowed/,
    "lower DATABASE_CONNECTIONS of every process, raise max_connections of the server, or use a pooler"
  ],
  [/^(?:\w+: )*ssl\w+: /, "correct this path in DATABASE_URL, and let this user read the file"],
  [
    /certificate|altnames/i,
    "name the certificate of the authority of the server with sslrootcert in DATABASE_URL, and the host as in the server's certificate"
  ],
  [
    /does not support SSL/,
    "set ssl = on at the server, or sslmode=disable in DATABASE_URL on a network that you trust"
  ],
  [/password|role|authentication/i, "correct the user and password in DATABASE_URL"],
  [/does not exist/i, "create the database, or correct its name in DATABASE_URL"]
]

/** Advice for an error of the server, by its message. */
const adviceForServer = (message: string): string =>
  advices.find(([said]) => said.test(message))?.[1] ??
    "start PostgreSQL; check host, port and sslmode in DATABASE_URL, and the firewall"

const adviceFor = ({ databaseUrl }: Configuration, message: string): string => {
  if (Option.isNone(databaseUrl)) {
    return message.includes("in use by another process")
      ? "stop the process that uses it, or give this one another DATA_DIR"
      : message.includes("belongs to user")
      ? "run doctor as the user of the service, as docs/operating.md describes"
      : message.includes("was moved to")
      ? "set DATABASE_URL, and MASTER_KEY and OPERATOR_TOKEN to the keys in this folder"
      : "restore the folder from a backup, or choose another DATA_DIR"
  }
  return adviceForServer(message)
}

const checkClock = Effect.map(clockDifference, (ahead) => {
  const seen = `${Math.round(Math.abs(ahead) * 1000)} ms from the clock of the database`
  const advice = "synchronize the clocks of this machine and of the database server with NTP"
  const level = levelOf(ahead)
  return level === "agrees" ? good("clock", seen) : (level === "differs" ? warning : bad)("clock", seen, advice)
})

/** Whether this database user may create tables. */
const mayCreate = Effect.gen(function*() {
  const { query } = yield* Database
  const [row] = yield* query<{ readonly may_create: boolean | null }>(
    {
      name: "startlist_doctor_create",
      text: "SELECT has_schema_privilege(current_schema(), 'CREATE') AS may_create"
    },
    []
  )
  return row?.may_create === true
})

/** The tables in comparison with this program. */
const describeTables = ({ breaking, missing, unknown }: Status, mayCreate: boolean): Finding => {
  if (breaking.length > 0) {
    return bad(
      "tables",
      `newer than this program: ${breaking.join(", ")}`,
      "run the version of Startlist that made them, or a newer one"
    )
  }
  if (missing.length === 0 && unknown.length > 0) {
    return warning(
      "tables",
      `newer than this program, but compatible with it: ${unknown.join(", ")}`,
      "complete the upgrade: run the newer version here, too"
    )
  }
  if (missing.length === 0) return good("tables", "up to date")
  return mayCreate
    ? warning(
      "tables",
      `migrations not applied yet: ${missing.join(", ")}`,
      "the next start applies them; or run startlist migrate now"
    )
    : bad(
      "tables",
      `this database user may not create tables, and migrations are not applied yet: ${missing.join(", ")}`,
      "GRANT CREATE ON SCHEMA public TO this user, or run startlist migrate as a user who may create tables"
    )
}

const describeWrites = (refusal: Option.Option<StoreError>): Finding =>
  Option.match(refusal, {
    onNone: () => good("writes", "the database takes writes"),
    onSome: (error) => bad("writes", rootMessage(error), adviceForServer(rootMessage(error)))
  })

/** Whether the tables are distributed as they should be, on a Citus cluster. */
const checkDistribution = Effect.gen(function*() {
  if (!(yield* Citus.isInstalled)) return []
  const { distributed, workers, wrong } = yield* Citus.status()
  const addresses = (some: ReadonlyArray<Citus.Worker>) => some.map(({ address }) => address).join(", ")
  const where = `${workers.length} workers${workers.length === 0 ? "" : `: ${addresses(workers)}`}`
  const unavailable = workers.filter(({ answers }) => !answers)
  if (unavailable.length > 0) {
    const what = `these workers do not answer: ${addresses(unavailable)}`
    return [bad("cluster", what, "start them, or remove them with citus_remove_node after their shards have moved")]
  }
  if (distributed === 0) {
    return [warning("cluster", `all tables are on the coordinator; ${where}`, "run startlist migrate --distributed")]
  }
  if (wrong.length > 0) {
    const what = `not distributed as they should be: ${wrong.join(", ")}`
    return [bad("cluster", what, "stop the service and run startlist migrate --distributed")]
  }
  return [good("cluster", `the tables are distributed over ${where}`)]
})

/** Maximum number of applications to check, newest first. */
const sample = 1000

/** Whether the master keys open the stored signing secrets. */
const checkSecrets = Effect.map(SealedSecrets.look(sample), ({ closed, total }) =>
  closed.length === 0
    ? good("master key", `opens the signing secrets of ${total} applications`)
    : bad(
      "master key",
      `does not open the signing secrets of ${closed.length} of ${total} applications (${
        closed.slice(0, 5).join(", ")
      }): their events are not delivered`,
      "add the key that sealed them to MASTER_KEY after a comma; if it is lost, make new secrets with startlist reseal --end-unreadable"
    ))

/** Number of tables that are shown. */
const shownTables = 4

const units = ["B", "KiB", "MiB", "GiB", "TiB"]

/** A size such as `1.5 GiB`. */
const sizeOf = (bytes: number): string => {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${Math.round(bytes / 1024 ** power * 10) / 10} ${units[power]}`
}

const dayOf = (millis: string | number | null): string =>
  millis === null ? "none" : DateTime.formatIsoDateUtc(DateTime.unsafeMake(Number(millis)))

/**
 * The largest tables, and the oldest rows of those that are purged. Sizes include indexes. On a cluster, those of all
 * servers.
 */
const checkSizes = Effect.gen(function*() {
  const { prefix: p, query } = yield* Database
  const isCluster = yield* Citus.isInstalled
  const size = isCluster
    ? "CASE WHEN d.logicalrelid IS NULL THEN pg_total_relation_size(c.oid) ELSE citus_total_relation_size(c.oid) END"
    : "pg_total_relation_size(c.oid)"
  const tables = yield* query<{ readonly name: string; readonly bytes: number }>(
    {
      name: `${p}doctor_sizes${isCluster ? "_cluster" : ""}`,
      text: `SELECT substr(c.relname, ${p.length + 1}) AS name, (${size})::double precision AS bytes
        FROM pg_class c ${isCluster ? "LEFT JOIN pg_dist_partition d ON d.logicalrelid = c.oid" : ""}
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND starts_with(c.relname, $1::text)
        ORDER BY bytes DESC LIMIT ${shownTables}`
    },
    [p]
  )
  const [oldest] = yield* query<{ readonly delivery: string | null; readonly entry: string | null }>(
    {
      name: `${p}doctor_oldest`,
      text: `SELECT (SELECT min(ended_at) FROM ${p}deliveries) AS delivery, (SELECT min(at) FROM ${p}audit) AS entry`
    },
    []
  )
  const sizes = tables.map(({ bytes, name }) => `${name} ${sizeOf(bytes)}`).join(", ")
  const dates = `oldest past delivery: ${dayOf(oldest?.delivery ?? null)}, oldest audit entry: ${
    dayOf(oldest?.entry ?? null)
  }`
  return good("size", `${sizes}; ${dates}`)
})

/**
 * Checks the database, its clock, tables and secrets, without changing anything. `isServing`: whether the service is
 * ready, which then uses the embedded database.
 */
export const checkDatabase = (configuration: Configuration, keys: Keys, isServing: Effect.Effect<boolean>) =>
  Effect.gen(function*() {
    const { description } = yield* DatabaseHealth
    const clock = yield* checkClock
    const { refusal, tables } = yield* examine
    // Without these tables, nothing can be stored yet.
    const hasTables = tables.missing.length === 0 && tables.breaking.length === 0
    // Keys matter for every version of the tables. Before the first start, there are no secrets.
    const secrets = hasTables ? Effect.asSome(checkSecrets) : Effect.option(checkSecrets)
    return [
      good("database", `${description} answers`),
      describeTables(tables, yield* mayCreate),
      ...(hasTables ? [describeWrites(refusal)] : []),
      clock,
      ...(hasTables ? [yield* checkSizes, ...(yield* checkDistribution)] : []),
      ...Option.toArray(yield* secrets)
    ]
  }).pipe(
    Effect.provide(Storage.layer(configuration, keys, { migrate: false })),
    Effect.catchAll((error) =>
      Effect.map(isServing, (serving) => {
        const { message } = Storage.toConfigurationError("database")(error)
        return serving && message.includes("in use by another process")
          ? [good("database", `embedded in ${configuration.dataDir}, in use by the service, which is ready`)]
          : [
            bad("database", message.replace(/^(?:(?:database|DATABASE_URL): )+/, ""), adviceFor(configuration, message))
          ]
      })
    )
  )
