/**
 * `startlist serve`, `migrate`, `reseal` and `doctor`, on the machine of the service; `fake` and `listen`, on those of the
 * developers of applications.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Keys from "../data/Keys.ts"
import * as Configuration from "../settings/Configuration.ts"
import { json, optional, service } from "./Connection.ts"
import { CommandFailed, print, printable, printLines } from "./Terminal.ts"

/** Runs the service. Each command loads only the code that it needs, so that the others start faster. */
export const serve = Command.make(
  "serve",
  {},
  () => Effect.flatMap(Effect.promise(() => import("../Serve.ts")), ({ serve }) => serve)
).pipe(Command.withDescription("runs the service"))

/** Reports each migration, and what it waits for. */
const reporting = (taking: (step: string) => void, waiting: (reason: string) => void) =>
  Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ annotations, logLevel, message }) => {
        if (HashMap.has(annotations, "migration")) (logLevel === LogLevel.Debug ? taking : waiting)(String(message))
      })
    ),
    Logger.minimumLogLevel(LogLevel.Debug)
  )

const distributed = Options.boolean("distributed").pipe(
  Options.withDescription("moves the tables to the servers of a Citus cluster; stop the service before")
)

/** Migrates the tables. */
export const migrate = Command.make(
  "migrate",
  { distributed, json },
  ({ distributed, json }) =>
    Effect.gen(function*() {
      const settings = yield* Configuration.current
      if (distributed && Option.isNone(settings.databaseUrl)) {
        yield* new CommandFailed({ message: "DATABASE_URL: --distributed needs the coordinator of a Citus cluster" })
      }
      const { DatabaseHealth } = yield* Effect.promise(() => import("../data/DatabaseHealth.ts"))
      const Storage = yield* Effect.promise(() => import("../data/Storage.ts"))
      const keys = yield* Keys.load(settings)
      const taken: Array<string> = []
      const { error, log } = yield* Console.consoleWith(({ unsafe }) => Effect.succeed(unsafe))
      const steps = reporting((step) => {
        taken.push(step)
        if (!json) log(printable(`applying ${step}`))
      }, (reason) => error(printable(reason)))
      const { description } = yield* Effect.provide(
        DatabaseHealth,
        Storage.layer(settings, keys, { distributed })
      ).pipe(
        Effect.provide(steps)
      )
      yield* json
        ? print({ database: description, taken }, json)
        : printLines(`${description}: the tables are up to date${distributed ? " and distributed" : ""}`)
    })
).pipe(Command.withDescription("brings the database's tables up to date"))

const endUnreadable = Options.boolean("end-unreadable").pipe(
  Options.withDescription(
    "if a key is lost: replaces the secrets that no key opens, and ends the subscriptions that use them"
  )
)

/** Seals signing secrets again with the first master key. */
export const reseal = Command.make("reseal", { endUnreadable }, ({ endUnreadable }) =>
  Effect.gen(function*() {
    const settings = yield* Configuration.current
    const Storage = yield* Effect.promise(() => import("../data/Storage.ts"))
    const NodeSecrets = yield* Effect.promise(() => import("@startlist/http/NodeSecrets"))
    const { replace, reseal } = yield* Effect.promise(() => import("@startlist/postgres/SealedSecrets"))
    // Before the keys are read, because missing ones would be created.
    if (Option.isNone(settings.databaseUrl)) {
      const { requireDatabase } = yield* Effect.promise(() => import("@startlist/postgres/Embedded"))
      yield* Effect.mapError(requireDatabase(settings.dataDir), Storage.toConfigurationError("DATA_DIR"))
    }
    const keys = yield* Keys.load(settings)
    const { resealed, unreadable } = yield* reseal.pipe(
      Effect.tap(({ unreadable }) => endUnreadable ? replace(unreadable) : Effect.void),
      Effect.mapError(Storage.toConfigurationError("database")),
      Effect.provide([Storage.layer(settings, keys), NodeSecrets.layerWith(Keys.masterKeysOf(keys))])
    )
    yield* printLines(`sealed the signing secrets of ${resealed} applications with the first master key`)
    if (unreadable.length === 0) return
    const applications = unreadable.join(", ")
    if (!endUnreadable) {
      yield* new CommandFailed({
        message: `MASTER_KEY: no key opens the signing secrets of the applications ${applications}. `
          + "Add the key that sealed them after a comma. If it is lost, run reseal --end-unreadable."
      })
    }
    yield* printLines(
      `these applications have new signing secrets, and their owners must subscribe again: ${applications}`
    )
  })).pipe(Command.withDescription("seals signing secrets with the first of several master keys"))

/** Checks everything that a start and a delivery need. */
export const doctor = Command.make(
  "doctor",
  { callback: optional("callback", "callback URL to validate"), json },
  ({ callback, json }) =>
    Effect.gen(function*() {
      const settings = yield* Effect.either(Configuration.current)
      const { inspect, report } = yield* Effect.promise(() => import("../doctor/Doctor.ts"))
      const { bad } = yield* Effect.promise(() => import("../doctor/Finding.ts"))
      const findings = Either.isRight(settings)
        ? yield* inspect(settings.right, callback)
        : [
          bad(
            "configuration",
            settings.left.message,
            "correct the variable; docs/configuration.md describes all variables"
          )
        ]
      yield* report(findings, json)
    })
).pipe(Command.withDescription("checks configuration, keys, database, clock and callback, and says what to do"))

/** Runs a fake service in memory. */
export const fake = Command.make(
  "fake",
  {
    port: Options.integer("port").pipe(
      Options.withDescription("port to listen on (default: any free port)"),
      Options.optional
    ),
    redirectUris: Options.text("redirect-uri").pipe(
      Options.withDescription(
        "further redirect URI of the application, besides those on localhost; you can repeat this option"
      ),
      Options.repeated
    ),
    allow: Options.text("allow").pipe(
      Options.withDescription(
        "network of receivers that may be called, besides this machine, such as 172.16.0.0/12; you can repeat this option"
      ),
      Options.repeated
    ),
    json
  },
  (options) => Effect.flatMap(Effect.promise(() => import("./Fake.ts")), ({ run }) => run(options))
).pipe(Command.withDescription("runs a service in memory for tests, with its own clock and faults on demand"))

/** Follows the event log. */
export const listen = Command.make(
  "listen",
  {
    forwardTo: Options.text("forward-to").pipe(
      Options.withDescription("URL of the receiver, such as http://localhost:3000/callback")
    ),
    url: service.url,
    token: Options.redacted("token").pipe(
      Options.withDescription("access token of a platform user (default: STARTLIST_ACCESS_TOKEN, or standard input)"),
      Options.optional
    ),
    secret: optional("secret", "signing secret (whsec_…) to sign with (default: a new one, which is printed)"),
    after: optional("after", "start after this cursor"),
    fromStart: Options.boolean("from-start").pipe(
      Options.withDescription("post all stored events first (default: only new events)")
    )
  },
  (options) => Effect.flatMap(Effect.promise(() => import("./Listen.ts")), ({ run }) => run(options))
).pipe(Command.withDescription("posts an application's events to a receiver on this machine"))
