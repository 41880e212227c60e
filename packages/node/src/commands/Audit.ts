/** `startlist audit …`: who did what. */
import * as Command from "@effect/cli/Command"
import * as Schema from "effect/Schema"
import { asking, common, list, paging } from "../Asking.ts"

const listAll = Command.make(
  "list",
  { ...paging(Schema.Int), ...common },
  ({ after, all, limit, ...options }) =>
    asking(options, ({ audit }) =>
      list(
        { after, all, limit },
        Schema.Int,
        (urlParams) => audit.listAudit({ urlParams }),
        (pages) => ({ entries: pages.flatMap(({ entries }) => entries) })
      ))
).pipe(Command.withDescription("lists what was done, by whom, from where, and what came of it, newest first"))

/** In the order of the help. */
export const commands = [listAll] as const

/** The audit trail. */
export const audit = Command.make("audit").pipe(
  Command.withDescription("who did what, when, from where"),
  Command.withSubcommands(commands)
)
