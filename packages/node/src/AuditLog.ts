/** The audit trail: who did what, when, from where, and with which result. Append-only; operators read it. */
import * as Context from "effect/Context"
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type { StoreError } from "@startlist/core/Store"
import * as Audit from "@startlist/http/Audit"
import * as Series from "./metrics/Series.ts"

/** An actor or a subject. */
export interface Party {
  readonly type: "user" | "application" | "operator" | "unknown"
  readonly id?: number
}

/** `refused`: the caller's fault. `failed`: the service's. */
export type Outcome = "success" | "refused" | "failed"

/** One entry of the audit trail. Contains no secret. */
export interface Line {
  /** Grows with time. */
  readonly id: number
  readonly at: DateTime.Utc
  /** One of `Audit.Action`, `operator_call` or `operator_authentication_failed`. */
  readonly action: string
  readonly actor: Party
  readonly subject: Party
  /** The address of the client. */
  readonly address: string
  readonly outcome: Outcome
  /** For an operator's call: method, path (as in the log) and status. For a refused revocation: the status. */
  readonly detail: string
}

/** An entry before it is stored. */
export type NewLine = Omit<Line, "id">

/** An entry can be removed only when it is this much older than the newest one: the minimum of `AUDIT_RETENTION`. */
export const auditFloor = Duration.days(30)

/** Which entries to list, newest first. `userId` and `applicationId` match the actor or the subject. */
export interface AuditFilter {
  readonly action: Option.Option<string>
  readonly userId: Option.Option<number>
  readonly applicationId: Option.Option<number>
  /** Entries at or after `since`, and before `until`. */
  readonly since: Option.Option<DateTime.Utc>
  readonly until: Option.Option<DateTime.Utc>
  /** Only entries older than this one. */
  readonly after: Option.Option<number>
  readonly limit: number
}

/** A filter that matches every entry. */
export const everything: Omit<AuditFilter, "limit"> = {
  action: Option.none(),
  userId: Option.none(),
  applicationId: Option.none(),
  since: Option.none(),
  until: Option.none(),
  after: Option.none()
}

export class AuditLog extends Context.Tag("@startlist/node/AuditLog")<AuditLog, AuditLog.Service>() {}

export declare namespace AuditLog {
  export interface Service {
    readonly append: (line: NewLine) => Effect.Effect<void, StoreError>
    /** Runs an effect in a transaction: its changes and its entries are stored together. Ends within five seconds. */
    readonly together: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
    readonly list: (filter: AuditFilter) => Effect.Effect<ReadonlyArray<Line>, StoreError>
    /** Removes at most `limit` entries older than this instant. Returns the number of removed entries. */
    readonly purge: (before: DateTime.Utc, limit: number) => Effect.Effect<number, StoreError>
  }
}

const toParty = Audit.Party.$match({
  User: ({ userId }): Party => ({ type: "user", id: userId }),
  Application: ({ applicationId }): Party => ({ type: "application", id: applicationId }),
  Operator: (): Party => ({ type: "operator" }),
  Unknown: (): Party => ({ type: "unknown" })
})

const refused: ReadonlySet<Audit.Action> = new Set<Audit.Action>([
  "login_failed",
  "client_authentication_failed",
  "consent_refused",
  "revocation_refused",
  "replay_refused"
])

/** Converts an entry of the protocol endpoints and pages. */
export const toLine = (entry: Audit.Entry): NewLine => ({
  at: entry.at,
  action: entry.action,
  actor: toParty(entry.actor),
  subject: toParty(entry.subject),
  address: entry.address,
  outcome: refused.has(entry.action) ? "refused" : "success",
  detail: entry.detail ?? ""
})

const lost = Series.make(
  Metric.counter(`${Series.prefix}audit_lines_lost_total`, {
    description: "Audit entries that could not be stored; the log contains them"
  })
)
lost.declare()

/** Stores an entry. If that fails, the entry is logged and counted, and the request continues. */
export const record = (line: NewLine): Effect.Effect<void, never, AuditLog> =>
  Effect.flatMap(AuditLog, (log) => log.append(line)).pipe(
    Effect.catchAll((error) => {
      const { at: _at, ...rest } = line
      lost.update(1)
      return Effect.annotateLogs(Effect.logError("an audit entry could not be stored", error), rest)
    })
  )

/** Stores the audit of the HTTP endpoints in this audit trail. */
export const layerAudit: Layer.Layer<never, never, AuditLog> = Layer.unwrapEffect(
  Effect.map(AuditLog, (log) =>
    Layer.succeed(Audit.Audit, {
      record: (entry) => Effect.provideService(record(toLine(entry)), AuditLog, log)
    }))
)
