/**
 * `startlist doctor`: checks everything that a start and a delivery need, and prints one finding per line with advice.
 * It changes nothing: it creates no keys, no data folder and no tables.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoreError } from "@startlist/core/Store"
import * as Citus from "@startlist/postgres/Citus"
import { clockDifference, Database as SqlDatabase } from "@startlist/postgres/Database"
import * as Folder from "@startlist/postgres/Folder"
import type { Status } from "@startlist/postgres/Migrations"
import { CommandFailed, print, printLines } from "../commands/Terminal.ts"
import * as DatabaseClock from "../data/DatabaseClock.ts"
import { DatabaseHealth, examine } from "../data/DatabaseHealth.ts"
import * as Keys from "../data/Keys.ts"
import * as SealedSecrets from "@startlist/postgres/SealedSecrets"
import * as Storage from "../data/Storage.ts"
import { bad, checkSettings, type Finding, good, warning } from "./Finding.ts"
import { type Configuration, origin } from "../settings/Configuration.ts"
import { rootMessage } from "../telemetry/Log.ts"
import { checkCallback, reach } from "./CallbackCheck.ts"
import { adviceForServer } from "./ServerAdvice.ts"
import { checkSizes } from "./TableSizes.ts"

/** Whether the service of these settings answers a probe with 200. */
const answers = ({ host, port }: Configuration, probe: "/healthz" | "/readyz") =>
  Effect.tryPromise((signal) => fetch(`${origin(host, port)}${probe}`, { signal }).then(({ ok }) => ok)).pipe(
    Effect.timeout("3 seconds"),
    Effect.orElseSucceed(() => false)
  )

/** Whether the address is free, or belongs to the running service. */
const checkAddress = (configuration: Configuration) => {
  const { host, port } = configuration
  const address = origin(host, port)
  const isTaken = Effect.async<boolean>((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code === "EADDRINUSE")))
    server.listen(port, host, () => server.close(() => resume(Effect.succeed(false))))
  })
  return Effect.gen(function*() {
    if (!(yield* isTaken)) return good("configuration", `listens on ${address}`)
    return (yield* answers(configuration, "/healthz"))
      ? good("configuration", `the service listens on ${address}`)
      : warning("configuration", `another program listens on ${address}`, "stop it, or choose another PORT")
  })
}

const checkClock = Effect.map(clockDifference, (ahead) => {
  const seen = `${Math.round(Math.abs(ahead) * 1000)} ms from the clock of the database`
  const advice = "synchronize the clocks of this machine and of the database server with NTP"
  const level = DatabaseClock.levelOf(ahead)
  return level === "agrees" ? good("clock", seen) : (level === "differs" ? warning : bad)("clock", seen, advice)
})

/** Whether this database user may create tables. */
const mayCreate = Effect.gen(function*() {
  const { query } = yield* SqlDatabase
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

const examineDatabase = (configuration: Configuration, keys: Keys.Keys) =>
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
      Effect.map(answers(configuration, "/readyz"), (serving) => {
        const { message } = Storage.toConfigurationError("database")(error)
        return serving && message.includes("in use by another process")
          ? [good("database", `embedded in ${configuration.dataDir}, in use by the service, which is ready`)]
          : [
            bad("database", message.replace(/^(?:(?:database|DATABASE_URL): )+/, ""), adviceFor(configuration, message))
          ]
      })
    )
  )

/** The folder, or its nearest existing parent. */
const nearest = (path: string): string => existsSync(path) || path === dirname(path) ? path : nearest(dirname(path))

/** Why this user cannot store a database in this folder, or create the folder. */
const whyNotIn = (dataDir: string): Option.Option<string> => {
  const folder = nearest(resolve(dataDir))
  try {
    if (!statSync(folder).isDirectory()) return Option.some(`${folder} is not a folder`)
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return existsSync(dataDir) ? Folder.whyNotPrivate(resolve(dataDir), statSync(dataDir)) : Option.none()
  } catch {
    return Option.some(`this user may not read and write in ${folder}`)
  }
}

/** Checks keys, folder and database. Creates neither the keys of a first start nor a replacement for a lost key. */
const checkInstallation = (configuration: Configuration) => {
  const { dataDir, databaseUrl, masterKeys, operatorToken } = configuration
  const whyNot = Option.isSome(databaseUrl) ? Option.none() : whyNotIn(dataDir)
  if (Option.isSome(whyNot)) {
    const advice = "run doctor as the user of the service, correct the mode of the folder, or choose another DATA_DIR"
    return Effect.succeed([bad("database", `DATA_DIR: ${whyNot.value}`, advice)])
  }
  const isMade = Option.isSome(databaseUrl) || existsSync(join(dataDir, "pgdata"))
  const hasKey = Option.isSome(masterKeys) || existsSync(Keys.masterKeyFile(dataDir))
  const hasToken = Option.isSome(operatorToken) || existsSync(Keys.operatorTokenFile(dataDir))
  if (!isMade) return Effect.succeed([good("database", `does not exist yet: the first start creates it in ${dataDir}`)])
  if (hasKey && hasToken) {
    return Keys.load(configuration).pipe(
      Effect.flatMap((keys) => examineDatabase(configuration, keys)),
      Effect.catchTag(
        "@startlist/node/InvalidConfiguration",
        ({ message }) =>
          Effect.succeed([bad("keys", message, "restore the file from a backup, or set MASTER_KEY and OPERATOR_TOKEN")])
      )
    )
  }
  const lost = hasKey ? Keys.operatorTokenFile(dataDir) : Keys.masterKeyFile(dataDir)
  const advice = hasKey
    ? "the next start makes a new one; or set OPERATOR_TOKEN"
    : "restore it from a backup or set MASTER_KEY before the next start, which would make a different key"
  return Effect.succeed([
    hasKey ? warning("keys", `${lost} is missing`, advice) : bad("keys", `${lost} is missing`, advice)
  ])
}

/** Checks settings, keys, database, tables, clock and stored secrets, and a callback if there is one. */
export const inspect = (
  configuration: Configuration,
  callback: Option.Option<string>
): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.gen(function*() {
    return [
      yield* checkAddress(configuration),
      ...checkSettings(configuration),
      ...(yield* checkInstallation(configuration)),
      good("callbacks", `allowed addresses: ${reach(configuration)}`),
      ...(Option.isSome(callback) ? [yield* checkCallback(configuration, callback.value)] : [])
    ]
  })

const marks = { good: "ok  ", warning: "WARN", bad: "FAIL" } as const

const linesOf = ({ advice, level, seen, what }: Finding): ReadonlyArray<string> => [
  `${marks[level]}  ${what}: ${seen}`,
  ...(advice === "" ? [] : [`      ${advice}`])
]

/** Prints the findings. Fails with one line if any of them is bad; warnings alone are not a failure. */
export const report = (findings: ReadonlyArray<Finding>, json: boolean) =>
  Effect.gen(function*() {
    yield* json ? print({ findings }, json) : printLines(...findings.flatMap(linesOf))
    const [first, ...others] = findings.filter(({ level }) => level === "bad")
    if (first === undefined) return
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`
    yield* new CommandFailed({ message: `${first.what}: ${first.seen}${more}` })
  })
