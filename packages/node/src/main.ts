#!/usr/bin/env node
/** The program: one command, exit status 0, or 1 with one line on stderr. */
import { createRequire } from "node:module"
import { stripVTControlCharacters } from "node:util"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { startlist } from "./Commands.ts"

/** However stubborn a database or a receiver: the process is gone so long after the signal. */
const hardLimit = 9000

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => setTimeout(() => process.exit(0), hardLimit).unref())
}

const Package = Schema.Struct({ version: Schema.String })
const { version } = Schema.decodeUnknownSync(Package)(createRequire(import.meta.url)("../package.json"))

const plain = (text: string): string => process.stdout.isTTY === true ? text : stripVTControlCharacters(text)

/** Help is coloured for terminals only; what the parser says about a mistake is said once, by `fail`. */
const quiet = Effect.map(Console.consoleWith(Effect.succeed), (console): Console.Console => ({
  ...console,
  log: (...parts) => console.log(...parts.map((part) => typeof part === "string" ? plain(part).trimEnd() : part)),
  error: () => Effect.void
}))

const oneLine = (text: string): string => stripVTControlCharacters(text).replaceAll(/\s+/g, " ").trim()

/** What went wrong, in one line. */
const describe = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (ValidationError.isValidationError(error)) return oneLine(HelpDoc.toAnsiText(error.error))
  return oneLine(error instanceof Error ? error.message : String(error))
}

const program = Effect.gen(function*() {
  const run = Command.run(startlist, { name: "Startlist", version, executable: "startlist" })
  yield* Effect.withConsole(run(process.argv), yield* quiet)
}).pipe(
  Effect.tapErrorCause((cause) =>
    Cause.isInterruptedOnly(cause)
      ? Effect.void
      : Effect.sync(() => process.stderr.write(`startlist: ${describe(cause)}\n`))
  ),
  Effect.provide(Layer.merge(NodeContext.layer, CliConfig.layer({ showBuiltIns: false })))
)

NodeRuntime.runMain(program, { disableErrorReporting: true, disablePrettyLogger: true })
