/** The command line as a program: parses and runs one command, and fails with a message of one line. */
import { stripVTControlCharacters } from "node:util"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { identity } from "effect/Function"
import * as Help from "./Help.ts"
import { startlist, tree } from "./Commands.ts"
import { version } from "../Version.ts"
import { CommandFailed } from "./Terminal.ts"

/**
 * Corrects the completions for bash that @effect/cli 0.77 generates. The script looks for `startlist,delivery,list` where
 * it has `startlist__delivery`, replaces hyphens in names by `__`, and writes the choices of an option as one word with
 * commas.
 */
const mendCompletions = (script: string): string =>
  script
    .replaceAll(
      /^( +)(\w+),([\w-]+),([\w-]+)\)$/gm,
      (_, indent: string, ...[program, group, command]: ReadonlyArray<string>) =>
        `${indent}${program}__${group},${command?.replaceAll("__", "-")})`
    )
    .replaceAll(/compgen -W "([\w,-]+)"/g, (_, choices: string) => `compgen -W "${choices.replaceAll(",", " ")}"`)

const plain = (text: string): string => process.stdout.isTTY === true ? text : stripVTControlCharacters(text)

/** Colours help for terminals only. Hides what the parser prints about a mistake: the failure has it in one line. */
const quiet = (mend: (text: string) => string) =>
  Effect.map(Console.consoleWith(Effect.succeed), (console): Console.Console => ({
    ...console,
    log: (...parts) =>
      console.log(...parts.map((part) => typeof part === "string" ? mend(plain(part).trimEnd()) : part)),
    error: () => Effect.void
  }))

const parse = Command.run(startlist, { name: "Startlist", version, executable: "startlist" })

const isHelp = (arg: string): boolean => arg === "--help" || arg === "-h"

/** The command whose help is requested: by `help`, by `--help`, or by the name of a group. */
const askedHelp = (args: ReadonlyArray<string>): Option.Option<ReadonlyArray<string>> => {
  const names = args[0] === "help" ? args.slice(1) : args
  const { rest, tree: { children } } = Help.resolve(tree, names)
  const isGroup = rest.length === 0 && children.length > 0
  return args[0] === "help" || rest.some(isHelp) || isGroup ? Option.some(names) : Option.none()
}

/** A mistake as the parser words it. Its message about a choice names neither the option nor the value. */
const describe = (error: ValidationError.ValidationError, args: ReadonlyArray<string>): string => {
  const message = stripVTControlCharacters(HelpDoc.toAnsiText(error.error)).trim()
  const [, choices = ""] = /^Expected one of the following cases: (.+)$/.exec(message) ?? []
  const allowed = choices.split(", ")
  const option = choices === "" ? undefined : Help.optionWith(tree, args, allowed)
  const place = args.findIndex((arg) => arg.split("=", 1)[0] === option)
  const [, given = args[place + 1]] = args[place]?.split("=") ?? []
  return option === undefined ? message : `${option} must be ${allowed.join(", ")}, not ${JSON.stringify(given)}`
}

const execute = (args: ReadonlyArray<string>) =>
  Effect.flatMap(
    quiet(args.includes("--completions") ? mendCompletions : identity),
    (console) => Effect.withConsole(parse(args), console)
  ).pipe(
    Effect.mapError((error) =>
      ValidationError.isValidationError(error)
        ? new CommandFailed({ message: describe(error, args.slice(2)) })
        : error
    ),
    Effect.provide(Layer.merge(NodeContext.layer, CliConfig.layer({ showBuiltIns: false })))
  )

/** Runs the command of these arguments (the first two are the program's own). */
export const run = (args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const given = args.slice(2)
    const names = askedHelp(given)
    const mistake = Help.mistake(tree, Option.getOrElse(names, () => given))
    if (Option.isSome(mistake)) return yield* new CommandFailed({ message: mistake.value })
    if (Option.isNone(names)) return yield* execute(args)
    yield* Console.log(Help.render(tree, names.value))
  })
