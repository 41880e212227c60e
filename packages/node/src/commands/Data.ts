/** `startlist move` and `backup`: what is done with the embedded database as a whole. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { common } from "../Asking.ts"
import * as Configuration from "../Configuration.ts"
import { databaseUrl } from "../internal/setting.ts"
import * as Redacted from "effect/Redacted"
import * as StandardInput from "../StandardInput.ts"
import { CommandFailed } from "../Target.ts"

const parseUrl = (given: Redacted.Redacted<string>) =>
  Effect.withConfigProvider(
    databaseUrl("to"),
    ConfigProvider.fromMap(new Map([["to", Redacted.value(given).trim()]]))
  ).pipe(Effect.mapError(() =>
    new CommandFailed({ message: "--to: must be a URL of the form postgres://user:password@host:port/database" })
  ))

/** Moves the embedded database to PostgreSQL. */
export const move = Command.make(
  "move",
  {
    to: Options.redacted("to").pipe(
      Options.withDescription(
        "postgres://user:password@host:port/database; without this option it is asked for, or read from the standard input"
      ),
      Options.optional
    ),
    json: common.json
  },
  ({ json, to }) =>
    Effect.gen(function*() {
      const { dataDir, databaseUrl } = yield* Configuration.current
      if (Option.isSome(databaseUrl)) {
        yield* new CommandFailed({ message: "DATABASE_URL: unset it, the database to move is the one in DATA_DIR" })
      }
      const url = yield* parseUrl(Option.isSome(to) ? to.value : yield* StandardInput.secret("Database URL"))
      const Database = yield* Effect.promise(() => import("../Database.ts"))
      const SqlTables = yield* Effect.promise(() => import("../SqlTables.ts"))
      const Move = yield* Effect.promise(() => import("@startlist/postgres/Move"))
      const description = Database.describe(url)
      const { hadArrived, tables } = yield* Move.move({
        folder: dataDir,
        ...SqlTables.embedded(),
        to: { url },
        description,
        report: ({ copied, table, total }) =>
          json || total === 0 ? Effect.void : Console.log(`${table}: ${copied} of ${total}`)
      }).pipe(Effect.mapError(Database.toConfigurationError("move")))
      const rows = tables.reduce((sum, { total }) => sum + total, 0)
      yield* Console.log(
        json
          ? JSON.stringify({ database: description, had_arrived: hadArrived, tables }, null, 2)
          : `${hadArrived ? "The data had arrived before" : `${rows} rows moved`}: ${description}.\n`
            + `${dataDir} is not used any more, but keep its keys. Start the service with DATABASE_URL, and with the keys that it had:\n`
            + `MASTER_KEY_FILE=${dataDir}/master-key OPERATOR_TOKEN_FILE=${dataDir}/operator-token`
      )
    })
).pipe(Command.withDescription("moves the embedded database to PostgreSQL, while the service is stopped"))
