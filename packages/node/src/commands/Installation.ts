/** `startlist serve`, `migrate`, `reseal` and `doctor`: what is done on the machine of the service itself. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { common, optional } from "../Asking.ts"
import * as Configuration from "../Configuration.ts"
import { CommandFailed } from "../Target.ts"

/** Runs the service. Its own code is loaded by the commands that need it: clients start faster without. */
export const serve = Command.make(
  "serve",
  {},
  () => Effect.flatMap(Effect.promise(() => import("../Serve.ts")), ({ serve }) => serve)
).pipe(Command.withDescription("runs the service"))

const json = common.json

/** Reports each step as it is taken, and what it waits for. */
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

/** Brings the tables up to date. */
export const migrate = Command.make("migrate", { json }, ({ json }) =>
  Effect.gen(function*() {
    const settings = yield* Configuration.current
    const { load } = yield* Effect.promise(() => import("../Keys.ts"))
    const Database = yield* Effect.promise(() => import("../Database.ts"))
    const keys = yield* load(settings)
    const taken: Array<string> = []
    const { error, log } = yield* Console.consoleWith(({ unsafe }) => Effect.succeed(unsafe))
    const steps = reporting((step) => {
      taken.push(step)
      if (!json) log(`taking ${step}`)
    }, error)
    const { description } = yield* Effect.provide(Database.Database, Database.layer(settings, keys)).pipe(
      Effect.provide(steps)
    )
    yield* Console.log(
      json ? JSON.stringify({ database: description, taken }, null, 2) : `${description}: the tables are up to date`
    )
  })).pipe(Command.withDescription("brings the database's tables up to date"))

const endUnreadable = Options.boolean("end-unreadable").pipe(
  Options.withDescription(
    "if the key is lost: ends the subscriptions whose secrets no key given opens, and makes new secrets"
  )
)

/** Seals anew with the present master key. */
export const reseal = Command.make("reseal", { endUnreadable }, ({ endUnreadable }) =>
  Effect.gen(function*() {
    const settings = yield* Configuration.current
    const { load, masterKeysOf } = yield* Effect.promise(() => import("../Keys.ts"))
    const Database = yield* Effect.promise(() => import("../Database.ts"))
    const NodeSecrets = yield* Effect.promise(() => import("@startlist/http/NodeSecrets"))
    const LostSecrets = yield* Effect.promise(() => import("../LostSecrets.ts"))
    const Resealing = yield* Effect.promise(() => import("@startlist/postgres/Resealing"))
    const keys = yield* load(settings)
    const { resealed, unreadable } = yield* Resealing.run.pipe(
      Effect.tap(({ unreadable }) => endUnreadable ? LostSecrets.replace(unreadable) : Effect.void),
      Effect.mapError(Database.toConfigurationError("database")),
      Effect.provide([Database.layer(settings, keys), NodeSecrets.layerWith(masterKeysOf(keys))])
    )
    yield* Console.log(`sealed with the present master key: the secrets of ${resealed} more applications`)
    if (unreadable.length === 0) return
    const applications = unreadable.join(", ")
    if (!endUnreadable) {
      yield* new CommandFailed({
        message: `MASTER_KEY: no key given opens the signing secrets of the applications ${applications}`
      })
    }
    yield* Console.log(
      `new signing secrets, and no subscription until their owners make one: the applications ${applications}`
    )
  })).pipe(Command.withDescription("seals signing secrets with the first of several master keys"))

/** Looks at everything that a start and a delivery need. */
export const doctor = Command.make(
  "doctor",
  { callback: optional("callback", "a callback URL to send a validation to"), json },
  ({ callback, json }) =>
    Effect.gen(function*() {
      const settings = yield* Effect.either(Configuration.current)
      const { inspect, report } = yield* Effect.promise(() => import("../Doctor.ts"))
      const { bad } = yield* Effect.promise(() => import("../Finding.ts"))
      const findings = Either.isRight(settings)
        ? yield* inspect(settings.right, callback)
        : [bad("configuration", settings.left.message, "correct the variable; docs/configuration.md has them all")]
      yield* report(findings, json)
    })
).pipe(Command.withDescription("checks configuration, keys, database, clock and callback, and says what to do"))
