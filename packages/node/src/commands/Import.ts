/** `startlist import`: brings the records of a former server into the database. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Platform } from "@startlist/core/Platform"
import { Policy } from "@startlist/core/Policy"
import * as Configuration from "../settings/Configuration.ts"
import { json } from "./commandOptions.ts"
import { print } from "./Table.ts"
import { CommandFailed, printable, printLines, showProgress } from "./Terminal.ts"

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
      const { load, masterKeysOf } = yield* Effect.promise(() => import("../data/Keys.ts"))
      const Storage = yield* Effect.promise(() => import("../data/Storage.ts"))
      const Importing = yield* Effect.promise(() => import("../data/Importing.ts"))
      const ForeignHash = yield* Effect.promise(() => import("../accounts/ForeignHash.ts"))
      const NodeSecrets = yield* Effect.promise(() => import("@startlist/http/NodeSecrets"))
      const FailureLimit = yield* Effect.promise(() => import("@startlist/http/FailureLimit"))
      const { layerCallbacks } = yield* Effect.promise(() => import("../Service.ts"))
      const keys = yield* load(settings)
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
          NodeSecrets.layerWith(masterKeysOf(keys)),
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
