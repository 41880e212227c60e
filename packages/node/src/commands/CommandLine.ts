/** The command line: all commands, their help in 80 columns, and the run of one, which fails with a message of one line. */
import { stripVTControlCharacters } from "node:util"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as Descriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import type * as Span from "@effect/cli/HelpDoc/Span"
import * as Usage from "@effect/cli/Usage"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { version } from "../Version.ts"
import { backup, importFile, move } from "./Data.ts"
import { doctor, fake, listen, migrate, reseal, serve } from "./Installation.ts"
import { operatorCommands } from "./operatorCommands.ts"
import { CommandFailed } from "./Terminal.ts"

/** A command with its subcommands, in the order of the help. */
export interface Tree {
  readonly name: string
  readonly command: Descriptor.Command<unknown>
  readonly children: ReadonlyArray<Tree>
}

const branch = (
  { descriptor }: { readonly descriptor: Descriptor.Command<unknown> },
  children: ReadonlyArray<Tree> = []
): Tree => ({
  name: [...Descriptor.getNames(descriptor)].join(" "),
  command: descriptor,
  children
})

const width = 80
const config = CliConfig.make({ showBuiltIns: false })

const textOf = (doc: HelpDoc.HelpDoc): string =>
  stripVTControlCharacters(HelpDoc.toAnsiText(doc)).replaceAll(/\s+/g, " ").trim()

const spanText = (span: Span.Span): string => textOf(HelpDoc.p(span))

/** Wraps a text to lines of at most 80 columns. The first begins with `label`; all others are indented by `indent`. */
const wrap = (label: string, text: string, indent: number): string => {
  const lines: Array<string> = []
  let line = label.padEnd(indent)
  let isEmpty = true
  for (const word of text.split(" ")) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line)
      line = " ".repeat(indent)
      isEmpty = true
    }
    line += isEmpty ? word : ` ${word}`
    isEmpty = false
  }
  return [...lines, line].join("\n").trimEnd()
}

/** The parts of a document, in order. */
const flatten = (doc: HelpDoc.HelpDoc): ReadonlyArray<HelpDoc.HelpDoc> =>
  HelpDoc.isSequence(doc) ? [...flatten(doc.left), ...flatten(doc.right)] : HelpDoc.isEmpty(doc) ? [] : [doc]

const descriptionOf = (command: Descriptor.Command<unknown>): string =>
  flatten(Descriptor.getHelp(command, config)).filter(HelpDoc.isParagraph).map(textOf).at(0) ?? ""

/** The description of an argument or option, which follows that of its type. */
const aboutOf = (doc: HelpDoc.HelpDoc): string => flatten(doc).filter(HelpDoc.isParagraph).map(textOf)[1] ?? ""

const section = (doc: HelpDoc.HelpDoc): ReadonlyArray<string> => {
  if (HelpDoc.isHeader(doc)) return ["", textOf(doc)]
  if (HelpDoc.isDescriptionList(doc)) {
    return doc.definitions.flatMap(([span, about]) => [
      wrap("", spanText(span), 2),
      ...(aboutOf(about) === "" ? [] : [wrap("", aboutOf(about), 6)])
    ])
  }
  return [wrap("", textOf(doc), 2)]
}

const usageOf = (path: ReadonlyArray<string>, command: Descriptor.Command<unknown>): string => {
  const [, ...rest] = textOf(Usage.getHelp(Descriptor.getUsage(command))).split(" ")
  return wrap("", [...path, ...rest].join(" "), 2)
}

/** The command that the first arguments name, its path, and the remaining arguments. */
export const resolve = (args: ReadonlyArray<string>) => {
  let found = tree
  let depth = 0
  for (const name of args) {
    const child = found.children.find((candidate) => candidate.name === name)
    if (child === undefined) break
    found = child
    depth++
  }
  return { ...found, path: args.slice(0, depth), rest: args.slice(depth) }
}

/** The option of the named command that has these choices. */
const optionWith = (args: ReadonlyArray<string>, choices: ReadonlyArray<string>) => {
  const usage = textOf(Usage.getHelp(Descriptor.getUsage(resolve(args).command)))
  const before = usage.slice(0, Math.max(0, usage.indexOf(` ${choices.join(" | ")}`)))
  return before.split(" ").at(-1)?.replace(/^\W*--/, "--")
}

/** A message about a command that does not exist. */
const mistake = (args: ReadonlyArray<string>): Option.Option<string> => {
  const { children, path, rest: [next] } = resolve(args)
  if (next === undefined || next.startsWith("-") || children.length === 0) return Option.none()
  const names = children.map(({ name }) => [...path, name].join(" ")).join(", ")
  const help = [tree.name, "help", ...path].join(" ")
  return Option.some(`there is no command ${[...path, next].join(" ")}. The commands are ${names}: see ${help}`)
}

/** The help for the command with these names. */
export const render = (names: ReadonlyArray<string>): string => {
  const { children, command, path } = resolve(names)
  const full = [tree.name, ...path]
  if (children.length === 0) {
    const parts = flatten(Descriptor.getHelp(command, config))
    return ["USAGE", usageOf(full, command), ...parts.flatMap(section)].join("\n")
  }
  const indent = Math.max(...children.map(({ name }) => name.length)) + 4
  return [
    "USAGE",
    `  ${full.join(" ")} <command>`,
    "",
    "DESCRIPTION",
    wrap("", descriptionOf(command), 2),
    "",
    "COMMANDS",
    ...children.map(({ command, name }) => wrap(`  ${name}`, descriptionOf(command), indent)),
    "",
    wrap("", `${[tree.name, "help", ...path].join(" ")} <command> describes one of them.`, 0)
  ].join("\n")
}

const onThisMachine = [serve, migrate, reseal, move, backup, importFile, doctor] as const
const forDevelopers = [fake, listen] as const

const startlist = Command.make("startlist").pipe(
  Command.withDescription(
    "OAuth 2.0 and webhooks for sports registrations. Completions for the shell: startlist --completions bash (or zsh, fish)"
  ),
  Command.withSubcommands([...onThisMachine, ...operatorCommands.map(({ group }) => group), ...forDevelopers])
)

/** All commands as a tree, for the help: the parser does not expose the commands of a group. */
export const tree: Tree = branch(startlist, [
  ...onThisMachine.map((command) => branch(command)),
  ...operatorCommands.map(({ commands, group }) => branch(group, commands.map((command) => branch(command)))),
  ...forDevelopers.map((command) => branch(command))
])

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
  const { children, rest } = resolve(names)
  const isGroup = rest.length === 0 && children.length > 0
  return args[0] === "help" || rest.some(isHelp) || isGroup ? Option.some(names) : Option.none()
}

/** A mistake as the parser words it. Its message about a choice names neither the option nor the value. */
const describe = (error: ValidationError.ValidationError, args: ReadonlyArray<string>): string => {
  const message = stripVTControlCharacters(HelpDoc.toAnsiText(error.error)).trim()
  const [, choices = ""] = /^Expected one of the following cases: (.+)$/.exec(message) ?? []
  const allowed = choices.split(", ")
  const option = choices === "" ? undefined : optionWith(args, allowed)
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
    Effect.provide(Layer.merge(NodeContext.layer, CliConfig.layer(config)))
  )

/** Runs the command of these arguments (the first two are the program's own). */
export const run = (args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const given = args.slice(2)
    const names = askedHelp(given)
    const wrong = mistake(Option.getOrElse(names, () => given))
    if (Option.isSome(wrong)) return yield* new CommandFailed({ message: wrong.value })
    if (Option.isNone(names)) return yield* execute(args)
    yield* Console.log(render(names.value))
  })
