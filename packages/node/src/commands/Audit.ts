/** `startlist audit …`: who did what. */
import * as Command from "@effect/cli/Command"
import { asking, common, list, paging } from "../Asking.ts"

const listAll = Command.make(
  "list",
  { ...paging, ...common },
  ({ after, all, limit, ...options }) =>
    asking(options, (service) => list(service, "/audit", "entries", { after, all, limit }))
).pipe(Command.withDescription("lists what was done, by whom, from where, and what came of it, newest first"))

/** The audit trail. */
export const audit = Command.make("audit").pipe(
  Command.withDescription("who did what, when, from where"),
  Command.withSubcommands([listAll])
)
