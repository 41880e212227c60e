/** Reads secrets from standard input: on the command line, the process list and the shell history would show them. */
import * as Prompt from "@effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { CommandFailed } from "./CommandFailed.ts"

const firstLine = async (): Promise<Redacted.Redacted<string>> => {
  let input = ""
  for await (const chunk of process.stdin) input += String(chunk)
  return Redacted.make(input.split(/\r?\n/, 1)[0] ?? "")
}

/** Prompts for a secret on a terminal. Otherwise reads the first line of standard input. */
export const secret = (
  name: string
): Effect.Effect<Redacted.Redacted<string>, CommandFailed, Prompt.Prompt.Environment> => {
  const unreadable = () =>
    new CommandFailed({ message: `the ${name.toLowerCase()} cannot be read from standard input` })
  return Effect.suspend(() =>
    process.stdin.isTTY === true
      ? Effect.mapError(Prompt.run(Prompt.hidden({ message: name })), unreadable)
      : Effect.tryPromise({ try: firstLine, catch: unreadable })
  )
}
