/** `startlist audit …`: who did what. */
import * as Command from "@effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ApplicationId } from "@startlist/core/Application"
import { UserId } from "@startlist/core/User"
import { asking, common, date, everyPage, explain, list, optional, optionalId, paging, serviceOf } from "../Asking.ts"

const filter = {
  action: optional("action", "only entries with this action, such as login_failed"),
  user: optionalId("user", "only entries by or about this user", UserId),
  application: optionalId("application", "only entries by or about this client_id", ApplicationId),
  since: date("since", "only entries at or after this time, such as 2026-01-31T08:00:00Z"),
  until: date("until", "only entries before this time")
}

const listAll = Command.make(
  "list",
  { ...filter, ...paging(Schema.Int), ...common },
  ({ action, after, all, application: client_id, limit, since, until, user: user_id, ...options }) =>
    asking(options, ({ audit }) =>
      list(
        { after, all, limit },
        Schema.Int,
        (page) => audit.listAudit({ urlParams: { ...page, action, client_id, since, until, user_id } }),
        (pages) => ({ entries: pages.flatMap(({ entries }) => entries) })
      ))
).pipe(Command.withDescription("lists audit entries, newest first"))

const { json: _, ...target } = common

const exportAll = Command.make(
  "export",
  { ...filter, ...target },
  ({ action, application: client_id, since, until, user: user_id, ...options }) =>
    Effect.flatMap(serviceOf(options), ({ audit }) =>
      Effect.mapError(
        everyPage(Schema.Int, (page) =>
          Effect.tap(
            audit.listAudit({ urlParams: { ...page, action, client_id, since, until, user_id } }),
            ({ entries }) => Effect.forEach(entries, (entry) => Console.log(JSON.stringify(entry)), { discard: true })
          )),
        explain
      ))
).pipe(Command.withDescription("prints every entry as one line of JSON, newest first"))

/** In the order of the help. */
export const commands = [listAll, exportAll] as const

/** The audit trail. */
export const audit = Command.make("audit").pipe(
  Command.withDescription("audit trail: who did what, when, from where"),
  Command.withSubcommands(commands)
)
