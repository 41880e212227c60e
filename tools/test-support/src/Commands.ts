/** Runs commands in the process of the test, which saves their start. */
import { Cause, Console, Effect, Exit, Option } from "effect"
import * as CommandLine from "@startlist/node/commands/CommandLine"
import type { Target } from "./Operator.ts"

export interface Ran {
  readonly code: number
  readonly stdout: string
  /** The line that describes a failure. */
  readonly stderr: string
}

/** Runs a command line and collects what it prints. */
export const runHere = async (args: ReadonlyArray<string>): Promise<Ran> => {
  let stdout = ""
  const write = (...parts: ReadonlyArray<unknown>) => void (stdout += `${parts.join(" ")}\n`)
  const exit = await Effect.runPromiseExit(
    Effect.flatMap(
      Console.consoleWith(Effect.succeed),
      (console) =>
        Effect.withConsole(CommandLine.run(["node", "startlist", ...args]), {
          ...console,
          log: (...parts) => Effect.sync(() => write(...parts)),
          unsafe: { ...console.unsafe, log: write }
        })
    )
  )
  if (Exit.isSuccess(exit)) return { code: 0, stdout, stderr: "" }
  const failure = Option.getOrElse(Cause.failureOption(exit.cause), () => Cause.squash(exit.cause))
  return { code: 1, stdout, stderr: failure instanceof Error ? failure.message : String(failure) }
}

/** Runs a command against this service. */
export const command = (service: Target, ...args: ReadonlyArray<string>): Promise<Ran> =>
  runHere([...args, "--url", service.url, "--token", service.operatorToken])

/** The same with `--json`. Fails if the command fails. */
export const commandJson = async (service: Target, ...args: ReadonlyArray<string>) => {
  const { code, stderr, stdout } = await command(service, ...args, "--json")
  if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`)
  return JSON.parse(stdout)
}
