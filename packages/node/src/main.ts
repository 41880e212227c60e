#!/usr/bin/env node
/** The program: one command, exit status 0, or 1 with one line on stderr. */
import { stripVTControlCharacters } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { printable } from "./internal/printable.ts"

/** However stubborn a database or a receiver: the process is gone so long after the signal. */
const hardLimit = 9000

/** A signal is how these end; any other command that it ends has not done what was asked. */
const stopped = ["serve", "fake", "listen"].includes(process.argv[2] ?? "") ? 0 : 1

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => setTimeout(() => process.exit(stopped), hardLimit).unref())
}

const oneLine = (text: string): string => printable(stripVTControlCharacters(text).replaceAll(/\s+/g, " ").trim())

/** What went wrong, in one line. */
const describe = (cause: Cause.Cause<unknown>): string => {
  if (Cause.isInterruptedOnly(cause)) return "interrupted before the end"
  const error = Cause.squash(cause)
  return oneLine(error instanceof Error ? error.message : String(error))
}

/** `startlist serve` starts without loading the parser of the command line, and sooner. */
const isServe = process.argv.length === 3 && process.argv[2] === "serve"

/**
 * What a command prints may be all there is of it, such as a secret that is shown once: on a full disk it has failed. A
 * reader that has gone away has read enough; and a service does not end because its log cannot be written.
 */
if (!isServe) {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || process.exitCode === 1) return
    process.exitCode = 1
    process.stderr.write(`startlist: the answer cannot be written: ${oneLine(error.message)}\n`)
  })
}

const program: Effect.Effect<void, Error> = Effect.gen(function*() {
  if (isServe) {
    const { serve } = yield* Effect.promise(() => import("./Serve.ts"))
    return yield* serve
  }
  const { run } = yield* Effect.promise(() => import("./CommandLine.ts"))
  return yield* run(process.argv)
})

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit, onExit) => {
    const code = Exit.isSuccess(exit) ? 0 : Cause.isInterruptedOnly(exit.cause) ? stopped : 1
    const line = Exit.isFailure(exit) && code !== 0 ? describe(exit.cause) : ""
    // Empty: another process of this node has said it.
    if (line !== "") process.stderr.write(`startlist: ${line}\n`)
    onExit(code)
  }
})
