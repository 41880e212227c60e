/** The program: runs one command. Exits with status 0, or with 1 and one line on stderr. */
import { stripVTControlCharacters } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { printable } from "./commands/Terminal.ts"

/** Milliseconds from the stop signal until the process exits, even if the database or a receiver does not answer. */
const hardLimit = 9000

/** Exit status after a signal. Only these commands run until they are stopped; any other one is incomplete. */
const stopped = ["serve", "fake", "listen"].includes(process.argv[2] ?? "") ? 0 : 1

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => setTimeout(() => process.exit(stopped), hardLimit).unref())
}

const oneLine = (text: string): string => printable(stripVTControlCharacters(text).replaceAll(/\s+/g, " ").trim())

/** The failure as one line. */
const describe = (cause: Cause.Cause<unknown>): string => {
  if (Cause.isInterruptedOnly(cause)) return "interrupted before the command was complete"
  const error = Cause.squash(cause)
  return oneLine(error instanceof Error ? error.message : String(error))
}

/** The command, if it has no arguments. Those that programs wait for then start without the command line parser. */
const alone = process.argv.length === 3 ? process.argv[2] : undefined

/**
 * Fails a command whose output cannot be written, such as a secret that is shown once. EPIPE is not a failure: the
 * reader has read enough. A service continues even if its log cannot be written.
 */
if (alone !== "serve") {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || process.exitCode === 1) return
    process.exitCode = 1
    process.stderr.write(`startlist: the output cannot be written: ${oneLine(error.message)}\n`)
  })
}

const program: Effect.Effect<void, Error> = Effect.gen(function*() {
  if (alone === "serve") {
    const { serve } = yield* Effect.promise(() => import("./Serve.ts"))
    return yield* serve
  }
  if (alone === "fake") {
    const { standard } = yield* Effect.promise(() => import("./commands/Fake.ts"))
    return yield* standard
  }
  const { run } = yield* Effect.promise(() => import("./commands/CommandLine.ts"))
  return yield* run(process.argv)
})

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit, onExit) => {
    const code = Exit.isSuccess(exit) ? 0 : Cause.isInterruptedOnly(exit.cause) ? stopped : 1
    const line = Exit.isFailure(exit) && code !== 0 ? describe(exit.cause) : ""
    // Empty if another process of this node has printed it.
    if (line !== "") process.stderr.write(`startlist: ${line}\n`)
    onExit(code)
  }
})
