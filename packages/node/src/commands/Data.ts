/** `startlist move` and `backup`: commands for the whole embedded database. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { stat } from "node:fs/promises"
import { resolve } from "node:path"
import * as Configuration from "../settings/Configuration.ts"
import { databaseUrl } from "../settings/Setting.ts"
import { masterKeyFile, operatorTokenFile } from "../data/Keys.ts"
import { installation } from "../operator/installation.ts"
import * as commandOptions from "./commandOptions.ts"
import { serviceAddress } from "./serviceAddress.ts"
import { print } from "./Table.ts"
import { CommandFailed, printLines, readSecret } from "./Terminal.ts"

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
    json: commandOptions.json
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
      const files = [["MASTER_KEY_FILE", masterKeyFile(dataDir)], [
        "OPERATOR_TOKEN_FILE",
        operatorTokenFile(dataDir)
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
    to: commandOptions.optional("to", "folder to create (default: a new folder in DATA_DIR/backups)"),
    ...commandOptions.service,
    json: commandOptions.json
  },
  ({ json, to, ...service }) =>
    Effect.gen(function*() {
      const target = Option.map(to, (path) => resolve(path))
      if (Option.isSome(target) && (yield* Effect.promise(() => exists(target.value)))) {
        return yield* new CommandFailed({ message: `--to: ${target.value} exists already. Choose another folder.` })
      }
      const { connect } = yield* Effect.promise(() => import("./connect.ts"))
      const { folder } = yield* connect(yield* serviceAddress(service))(installation.members.backUp, {})
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
