/** The audit trail: who did what, when and from where. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AuditLog from "../data/AuditLog.ts"
import { printLines } from "../commands/Terminal.ts"
import { ApplicationId, defaultLimit, Instant, largestPage, next, optional, paging, saying, UserId } from "./Input.ts"
import { command, type Group, operation } from "./Operation.ts"

const Party = Schema.Struct({
  type: Schema.Literal("user", "application", "operator", "unknown"),
  id: Schema.optional(Schema.Int)
})

export const AuditRecord = Schema.Struct({
  id: Schema.Int,
  at: Schema.String,
  action: Schema.String,
  actor: Party,
  subject: Party,
  address: Schema.String,
  outcome: Schema.Literal("success", "refused", "failed"),
  detail: Schema.optional(Schema.String)
}).annotations({ identifier: "AuditEntry" })

export const showAudit = (entry: AuditLog.AuditEntry): typeof AuditRecord.Type => ({
  id: entry.id,
  at: DateTime.formatIso(entry.at),
  action: entry.action,
  actor: entry.actor,
  subject: entry.subject,
  address: entry.address,
  outcome: entry.outcome,
  ...(entry.detail === "" ? {} : { detail: entry.detail })
})

const filter = {
  action: optional(
    saying(Schema.String.pipe(Schema.pattern(/^[a-z_]{1,50}$/)), "must be an action, such as login_failed")
  ),
  user_id: optional(UserId),
  client_id: optional(ApplicationId),
  since: optional(Instant),
  until: optional(Instant)
}

const options = {
  action: "only entries with this action, such as login_failed",
  user_id: { name: "user", about: "only entries by or about this user" },
  client_id: { name: "application", about: "only entries by or about this client_id" },
  since: { type: "date", about: "only entries at or after this time, such as 2026-01-31T08:00:00Z" },
  until: { type: "date", about: "only entries before this time" }
} as const

const listAudit = operation({
  request: "GET /audit",
  summary: "List the audit trail",
  description:
    "Lists audit entries, newest first, page by page. You can filter them by action, user, application and time.",
  command: { name: "audit list", help: "lists audit entries, newest first", options },
  input: { ...filter, ...paging(saying(Schema.Int.pipe(Schema.positive()), "must be a positive integer")) },
  output: Schema.Struct({ entries: Schema.Array(AuditRecord), next: Schema.optional(Schema.Int) }),
  run: ({ action, after, client_id, limit = defaultLimit, since, until, user_id }) =>
    Effect.flatMap(AuditLog.AuditLog, (log) =>
      log.list({
        action: Option.fromNullable(action),
        userId: Option.fromNullable(user_id),
        applicationId: Option.fromNullable(client_id),
        since: Option.fromNullable(since),
        until: Option.fromNullable(until),
        after: Option.fromNullable(after),
        limit
      })).pipe(Effect.map((page) => ({ entries: page.map(showAudit), ...next(page, limit) })))
})

const exportAudit = command({
  name: "audit export",
  help: "prints every entry as one line of JSON, newest first",
  options,
  input: filter,
  prints: "itself",
  ask: (wanted, call) =>
    Effect.gen(function*() {
      let page = yield* call(listAudit, { ...wanted, limit: largestPage })
      while (true) {
        yield* Effect.forEach(page.entries, (entry) => printLines(JSON.stringify(entry)), { discard: true })
        if (page.next === undefined) return
        page = yield* call(listAudit, { ...wanted, limit: largestPage, after: page.next })
      }
    })
})

/** The audit trail. */
export const audit = {
  commands: { name: "audit", help: "audit trail: who did what, when, from where" },
  texts: {
    action: ["Recorded action", "login"],
    actor: ["Who acted", undefined],
    address: ["Network address of the client", "203.0.113.7"],
    at: ["Time: ISO 8601 in UTC with milliseconds", "2026-06-01T08:00:00.000Z"],
    entries: ["One page, newest first", undefined],
    outcome: ["Result of the action", "success"],
    since: ["Only entries at or after this time", "2026-06-01T08:00:00.000Z"],
    subject: ["The party that the action concerns", undefined],
    type: ["Kind of party", "user"],
    until: ["Only entries before this time", "2026-06-01T08:00:00.000Z"],
    user_id: ["Only entries by or about this user", 42]
  },
  members: { listAudit, exportAudit }
} satisfies Group
