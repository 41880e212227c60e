/** The command line: `startlist <command>`. */
import * as Command from "@effect/cli/Command"
import { backup, move } from "./Data.ts"
import * as Help from "./Help.ts"
import { importFile } from "./Import.ts"
import { doctor, migrate, reseal, serve } from "./Installation.ts"
import { fake, listen } from "./Integrators.ts"
import { operatorCommands } from "./operatorCommands.ts"

/** All commands. */
export const startlist = Command.make("startlist").pipe(
  Command.withDescription(
    "OAuth 2.0 and webhooks for sports registrations. Completions for the shell: startlist --completions bash (or zsh, fish)"
  ),
  Command.withSubcommands([
    serve,
    migrate,
    reseal,
    move,
    backup,
    importFile,
    doctor,
    ...operatorCommands.map(({ group }) => group),
    fake,
    listen
  ])
)

/** The commands as a tree, for the help: the parser does not expose the commands of a group. */
export const tree: Help.Tree = Help.branch(startlist, [
  ...[serve, migrate, reseal, move, backup, importFile, doctor].map((command) => Help.branch(command)),
  ...operatorCommands.map(({ tree }) => tree),
  ...[fake, listen].map((command) => Help.branch(command))
])
