/** `startlist move`, `backup` and `import`: commands for the whole of the data. */
import { stat } from "node:fs/promises"
import { resolve } from "node:path"
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Platform } from "@startlist/core/Platform"
import { Policy } from "@startlist/core/Policy"
import * as Configuration from "../settings/Configuration.ts"
import { databaseUrl } from "../settings/Setting.ts"
import * as Keys from "../data/Keys.ts"
import { installation } from "../operator/installation.ts"
import { connect, json, optional, service } from "./Connection.ts"
import { CommandFailed, print, printable, printLines, readSecret, showProgress } from "./Terminal.ts"

const exists = (path: string): Promise<boolean> => stat(path).then(() => true, () => false)

const parseUrl = (given: Redacted.Redacted<string>) => {
  const url = databaseUrl.read(Redacted.value(given).trim())
  return url === undefined
    ? new CommandFailed({ message: `--to: the value is not ${databaseUrl.expected}` })
    : Effect.succeed(url)
}

/** Moves the embedded database to PostgreSQL. */
export const move = Command.make(
  "move",
  {
    to: Options.redacted("to").pipe(
      Options.withDescription(
        "postgres://user:password@host:port/database (default: prompts for it, or reads standard input)"
      ),
      Options.optional
    ),
    json
  },
  ({ json, to }) =>
    Effect.gen(function*() {
      const { dataDir, databaseUrl } = yield* Configuration.current
      if (Option.isSome(databaseUrl)) {
        yield* new CommandFailed({
          message: "DATABASE_URL: is set, but this command moves the database in DATA_DIR. Unset it."
        })
      }
      const url = yield* parseUrl(Option.isSome(to) ? to.value : yield* readSecret("Database URL"))
      const Storage = yield* Effect.promise(() => import("../data/Storage.ts"))
      const ServiceTables = yield* Effect.promise(() => import("../data/ServiceTables.ts"))
      const Move = yield* Effect.promise(() => import("@startlist/postgres/Move"))
      const description = Storage.describe(url)
      const { hadArrived, tables } = yield* Move.move({
        folder: dataDir,
        ...ServiceTables.embedded(),
        to: { url },
        description,
        report: ({ copied, table, total }) =>
          json || total === 0 ? Effect.void : printLines(`${table}: ${copied} of ${total}`)
      }).pipe(
        Effect.mapError((error) =>
          Storage.toConfigurationError(error._tag === "@startlist/postgres/EmbeddedError" ? "DATA_DIR" : "move")(error)
        )
      )
      const files = [["MASTER_KEY_FILE", Keys.masterKeyFile(dataDir)], [
        "OPERATOR_TOKEN_FILE",
        Keys.operatorTokenFile(dataDir)
      ]] as const
      const kept = yield* Effect.filter(files, ([, path]) => Effect.promise(() => exists(path)))
      const keys = kept.map(([name, path]) => `${name}=${path}`)
      const rows = tables.reduce((sum, { total }) => sum + total, 0)
      if (json) return yield* print({ database: description, had_arrived: hadArrived, tables }, json)
      yield* printLines(
        `${hadArrived ? "The data was moved before" : `${rows} rows moved`}: ${description}.`,
        `${dataDir} is not used any more. Start the service with DATABASE_URL and its previous keys`
          + (keys.length === 0 ? "." : ":"),
        ...(keys.length === 0 ? [] : [keys.join(" ")])
      )
    })
).pipe(Command.withDescription("moves the embedded database to PostgreSQL, while the service is stopped"))

/** Backs up the embedded database of the running service. */
export const backup = Command.make(
  "backup",
  {
    to: optional("to", "folder to create (default: a new folder in DATA_DIR/backups)"),
    ...service,
    json
  },
  ({ json, to, ...service }) =>
    Effect.gen(function*() {
      const target = Option.map(to, (path) => resolve(path))
      if (Option.isSome(target) && (yield* Effect.promise(() => exists(target.value)))) {
        return yield* new CommandFailed({ message: `--to: ${target.value} exists already. Choose another folder.` })
      }
      const call = yield* connect(service)
      const { folder } = yield* call(installation.members.backUp, {})
      if (Option.isNone(target)) return yield* print({ folder }, json)
      const { move } = yield* Effect.promise(() => import("../data/Backup.ts"))
      yield* Effect.mapError(move(folder, target.value), ({ cause }) =>
        new CommandFailed({
          message: `--to: ${cause instanceof Error ? cause.message : String(cause)}. `
            + `The backup is in ${folder} on the machine of the service`
        }))
      yield* print({ folder: target.value }, json)
    })
).pipe(Command.withDescription("copies the embedded database and its keys, while the service runs"))

const dryRun = Options.boolean("dry-run").pipe(Options.withDescription("checks the file and saves no record"))

const file = Args.text({ name: "FILE" }).pipe(Args.withDescription("one JSON object per line: see docs/moving.md"))

/** Number of records that are imported at the same time into PostgreSQL: two full batches of grants. */
const concurrency = 64

/** Number of records between two reports of progress. */
const reportEvery = 100

/** Imports users, applications, grants, subscriptions and registrations. */
export const importFile = Command.make(
  "import",
  { file, dryRun, json },
  ({ dryRun, file, json }) =>
    Effect.gen(function*() {
      const settings = yield* Configuration.current
      const Storage = yield* Effect.promise(() => import("../data/Storage.ts"))
      const Importing = yield* Effect.promise(() => import("../data/Importing.ts"))
      const ForeignHash = yield* Effect.promise(() => import("../accounts/ForeignHash.ts"))
      const NodeSecrets = yield* Effect.promise(() => import("@startlist/http/NodeSecrets"))
      const FailureLimit = yield* Effect.promise(() => import("@startlist/http/FailureLimit"))
      const { layerCallbacks } = yield* Effect.promise(() => import("../Service.ts"))
      const keys = yield* Keys.load(settings)
      const { error } = yield* Console.consoleWith(({ unsafe }) => Effect.succeed(unsafe))
      const { refused, summary } = yield* Importing.run({
        file,
        dryRun,
        concurrency: Option.isSome(settings.databaseUrl) ? concurrency : 1,
        onRefused: ({ line, message }) =>
          Effect.sync(() => {
            showProgress("")
            error(printable(`line ${line}: ${message}`))
          }),
        onProgress: (records) =>
          records % reportEvery === 0 ? Effect.sync(() => showProgress(`${records} records`)) : Effect.void
      }).pipe(
        Effect.ensuring(Effect.sync(() => showProgress(""))),
        Effect.provide(ForeignHash.layerClients),
        Effect.provide(Layer.mergeAll(
          Storage.layer(settings, keys),
          NodeSecrets.layerWith(Keys.masterKeysOf(keys)),
          FailureLimit.layerMemory,
          layerCallbacks(settings),
          Layer.succeed(Policy, settings.policy),
          Layer.succeed(Platform, settings.platform)
        )),
        Effect.catchTags({
          "@startlist/node/UnreadableFile": ({ message }) => new CommandFailed({ message: `FILE: ${message}` }),
          "@startlist/core/StoreError": (error) =>
            new CommandFailed({
              message: `${Storage.toConfigurationError("database")(error).message}. Run the import again: it continues.`
            })
        })
      )
      yield* json
        ? print({ dry_run: dryRun, refused, ...summary }, json)
        : print({ records: Object.entries(summary).map(([kind, counts]) => ({ kind, ...counts })) }, json)
      if (refused > 0) {
        return yield* new CommandFailed({
          message: `${refused} lines were refused. Correct them and import the file again: what is here stays.`
        })
      }
      if (!json && dryRun) yield* printLines("No record was saved.")
    })
).pipe(Command.withDescription("imports the applications, grants and tokens of a former server"))
