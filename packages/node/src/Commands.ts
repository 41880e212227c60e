/** The command line: `startlist <command>`. */
import * as Command from "@effect/cli/Command"
import { application } from "./commands/Applications.ts"
import { audit } from "./commands/Audit.ts"
import { delivery } from "./commands/Deliveries.ts"
import { doctor, migrate, reseal, serve } from "./commands/Installation.ts"
import { fake, listen } from "./commands/Integrators.ts"
import { registration } from "./commands/Registrations.ts"
import { user } from "./commands/Users.ts"

/** All commands. */
export const startlist = Command.make("startlist").pipe(
  Command.withDescription(
    "OAuth 2.0 and webhooks for sports registrations. Completions for the shell: startlist --completions bash (or zsh, fish)"
  ),
  Command.withSubcommands([
    serve,
    migrate,
    reseal,
    doctor,
    application,
    user,
    registration,
    delivery,
    audit,
    fake,
    listen
  ])
)
