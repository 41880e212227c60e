/** Help for the command line in 80 columns, and lookup of commands in their tree. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Descriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import type * as Span from "@effect/cli/HelpDoc/Span"
import * as Usage from "@effect/cli/Usage"
import * as Option from "effect/Option"
import { stripVTControlCharacters } from "node:util"

type Command = Descriptor.Command<unknown>

/** A command with its subcommands. */
export interface Tree {
  readonly name: string
  readonly command: Command
  readonly children: ReadonlyArray<Tree>
}

/** A command with its subcommands, in the order of the help. */
export const branch = ({ descriptor }: { readonly descriptor: Command }, children: ReadonlyArray<Tree> = []): Tree => ({
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

const descriptionOf = (command: Command): string =>
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

const usageOf = (path: ReadonlyArray<string>, command: Command): string => {
  const [, ...rest] = textOf(Usage.getHelp(Descriptor.getUsage(command))).split(" ")
  return wrap("", [...path, ...rest].join(" "), 2)
}

/** The command that the first arguments name, its path, and the remaining arguments. */
export const resolve = (root: Tree, args: ReadonlyArray<string>) => {
  let tree = root
  let depth = 0
  for (const name of args) {
    const child = tree.children.find((candidate) => candidate.name === name)
    if (child === undefined) break
    tree = child
    depth++
  }
  return { tree, path: args.slice(0, depth), rest: args.slice(depth) }
}

/** The option of the named command that has these choices. */
export const optionWith = (root: Tree, args: ReadonlyArray<string>, choices: ReadonlyArray<string>) => {
  const usage = textOf(Usage.getHelp(Descriptor.getUsage(resolve(root, args).tree.command)))
  const before = usage.slice(0, Math.max(0, usage.indexOf(` ${choices.join(" | ")}`)))
  return before.split(" ").at(-1)?.replace(/^\W*--/, "--")
}

/** A message about a command that does not exist. */
export const mistake = (root: Tree, args: ReadonlyArray<string>): Option.Option<string> => {
  const { path, rest: [next], tree: { children } } = resolve(root, args)
  if (next === undefined || next.startsWith("-") || children.length === 0) return Option.none()
  const names = children.map(({ name }) => [...path, name].join(" ")).join(", ")
  const help = [root.name, "help", ...path].join(" ")
  return Option.some(`there is no command ${[...path, next].join(" ")}. The commands are ${names}: see ${help}`)
}

/** The help for the command with these names. */
export const render = (root: Tree, names: ReadonlyArray<string>): string => {
  const { path, tree: { children, command } } = resolve(root, names)
  const full = [root.name, ...path]
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
    wrap("", `${[root.name, "help", ...path].join(" ")} <command> describes one of them.`, 0)
  ].join("\n")
}
