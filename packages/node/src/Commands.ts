/** The command line: `startlist <command>`. */
import * as Command from "@effect/cli/Command"
import * as Help from "./Help.ts"
import * as Applications from "./commands/Applications.ts"
import * as Audit from "./commands/Audit.ts"
import * as Deliveries from "./commands/Deliveries.ts"
import { backup, move } from "./commands/Data.ts"
import { doctor, migrate, reseal, serve } from "./commands/Installation.ts"
import { fake, listen } from "./commands/Integrators.ts"
import * as Registrations from "./commands/Registrations.ts"
import * as Subscriptions from "./commands/Subscriptions.ts"
import * as Users from "./commands/Users.ts"

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
    doctor,
    Applications.application,
    Users.user,
    Registrations.registration,
    Subscriptions.subscription,
    Deliveries.delivery,
    Audit.audit,
    fake,
    listen
  ])
)

/** The commands as a tree, for the help: the parser does not expose the commands of a group. */
export const tree: Help.Tree = Help.branch(startlist, [
  ...[serve, migrate, reseal, move, backup, doctor].map((command) => Help.branch(command)),
  Help.branch(Applications.application, Applications.commands.map((command) => Help.branch(command))),
  Help.branch(Users.user, Users.commands.map((command) => Help.branch(command))),
  Help.branch(Registrations.registration, Registrations.commands.map((command) => Help.branch(command))),
  Help.branch(Subscriptions.subscription, Subscriptions.commands.map((command) => Help.branch(command))),
  Help.branch(Deliveries.delivery, Deliveries.commands.map((command) => Help.branch(command))),
  Help.branch(Audit.audit, Audit.commands.map((command) => Help.branch(command))),
  ...[fake, listen].map((command) => Help.branch(command))
])
