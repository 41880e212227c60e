/** The audit trail: who did what, when, from where, and with which result. Append-only; operators read it. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Audit from "@startlist/core/Audit"
import type { StoreError } from "@startlist/core/Store"
import { Database } from "@startlist/postgres/Database"
import { auditFloor } from "../settings/Settings.ts"
import { count } from "../telemetry/Counters.ts"
import * as Prometheus from "../telemetry/Prometheus.ts"

/** An actor or a subject. */
export interface Party {
  readonly type: "user" | "application" | "operator" | "unknown"
  readonly id?: number
}

/** `refused`: the caller's fault. `failed`: the service's. */
export type Outcome = "success" | "refused" | "failed"

/** One entry of the audit trail. Contains no secret. */
export interface AuditEntry {
  /** Grows with time. */
  readonly id: number
  readonly at: DateTime.Utc
  /** One of `Audit.Action`, `operator_call`, `operator_authentication_failed` or `import`. */
  readonly action: string
  readonly actor: Party
  readonly subject: Party
  /** The address of the client. */
  readonly address: string
  readonly outcome: Outcome
  /**
   * For an operator's call: method, path (as in the log) and status, and for some the value. For a refused revocation: the
   * status. For an import: who ran it, and counts.
   */
  readonly detail: string
}

/** An entry before it is stored. */
export type NewAuditEntry = Omit<AuditEntry, "id">

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

/** The entries of the audit. */
export class AuditLog extends Context.Tag("@startlist/node/AuditLog")<AuditLog, AuditLog.Service>() {}

export declare namespace AuditLog {
  export interface Service {
    /** Stores an entry in the caller's transaction, if there is one. */
    readonly append: (entry: NewAuditEntry) => Effect.Effect<void, StoreError>
    /** Stores an entry outside of a transaction, as `makeRecord` does. The request continues if that fails. */
    readonly record: (entry: NewAuditEntry) => Effect.Effect<void>
    /** Runs an effect in a transaction: its changes and its entries are stored together. Ends within five seconds. */
    readonly together: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>
    /** The entries that a filter matches, newest first. */
    readonly list: (filter: AuditFilter) => Effect.Effect<ReadonlyArray<AuditEntry>, StoreError>
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
const toAuditEntry = (entry: Audit.Acted): NewAuditEntry => ({
  at: entry.at,
  action: entry.action,
  actor: toParty(entry.actor),
  subject: toParty(entry.subject),
  address: entry.address,
  outcome: refused.has(entry.action) ? "refused" : "success",
  detail: entry.detail ?? ""
})

const lost = Prometheus.counter(
  "audit_lines_lost_total",
  "Audit entries that could not be stored; the log contains them"
)
lost.declare()

/** What anybody can cause without a valid secret. */
const byStrangers: ReadonlySet<string> = new Set<Audit.Action | "operator_authentication_failed">([
  "login_failed",
  "client_authentication_failed",
  "operator_authentication_failed",
  "revocation_refused"
])

/** Maximum number of entries that strangers cause, by action, within `hour`. Further ones are counted. */
export const maxByStrangers = 100

const hour = Duration.hours(1)

/** Interval between entries that say how many were not stored one by one. */
const summaryInterval = Duration.minutes(1)

/** Maximum waiting time of a request: after a database that has not answered for four seconds, it leaves time to answer. */
const patience = Duration.millis(250)

/** The entries of an action that strangers cause: those that were stored since `startedAt`, and those that wait. */
interface Flood {
  startedAt: number
  stored: number
  waiting: number
}

/**
 * Stores entries in the background; the caller waits for at most `patience`. An entry that cannot be stored is logged and
 * counted. Strangers cannot fill the audit: beyond `maxByStrangers`, one entry per minute has the number of the others.
 */
export const makeRecord = (
  append: AuditLog.Service["append"]
): Effect.Effect<AuditLog.Service["record"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const floods = new Map<string, Flood>()

    const store = (entry: NewAuditEntry) =>
      Effect.catchAll(append(entry), (error) => {
        const { at: _at, ...rest } = entry
        lost.update(1)
        return Effect.annotateLogs(Effect.logError("an audit entry could not be stored", error), rest)
      })

    const summarize = (action: string, flood: Flood) =>
      Effect.flatMap(DateTime.now, (at) => {
        const { waiting } = flood
        flood.waiting = 0
        const nobody: Party = { type: "unknown" }
        return waiting === 0 ? Effect.void : store({
          at,
          action,
          actor: nobody,
          subject: nobody,
          address: "",
          outcome: "refused",
          detail: `${waiting} more`
        })
      })
    yield* Effect.addFinalizer(() =>
      Effect.forEach(floods, ([action, flood]) => summarize(action, flood), { discard: true })
    )

    const floodOf = (action: string, now: number): Flood => {
      const flood = floods.get(action) ?? { startedAt: now, stored: 0, waiting: 0 }
      floods.set(action, flood)
      // Also back, if the clock was set back.
      if (Math.abs(now - flood.startedAt) >= Duration.toMillis(hour)) {
        Object.assign(flood, { startedAt: now, stored: 0 })
      }
      return flood
    }

    const storeInBackground = (entry: NewAuditEntry) =>
      Effect.flatMap(
        Effect.forkDaemon(store(entry)),
        // Interruptible, because the caller may not be: otherwise it would wait for longer.
        (fiber) => Effect.asVoid(Effect.timeoutOption(Effect.interruptible(Fiber.await(fiber)), patience))
      )

    const countOrStore = (entry: NewAuditEntry): Effect.Effect<void> => {
      const flood = floodOf(entry.action, entry.at.epochMillis)
      if (flood.stored < maxByStrangers) {
        flood.stored++
        return storeInBackground(entry)
      }
      flood.waiting++
      if (flood.waiting > 1) return Effect.void
      const later = Effect.zipRight(Effect.sleep(summaryInterval), summarize(entry.action, flood))
      return Effect.asVoid(Effect.forkIn(later, scope))
    }

    return (entry) =>
      byStrangers.has(entry.action) ? Effect.suspend(() => countOrStore(entry)) : storeInBackground(entry)
  })

/** Stores the actions in this audit trail, and counts everything else. */
export const layerAudit: Layer.Layer<Audit.Audit, never, AuditLog> = Layer.effect(
  Audit.Audit,
  Effect.map(AuditLog, (log) => ({
    record: (entry) => entry._tag === "Acted" ? log.record(toAuditEntry(entry)) : Effect.sync(() => count(entry))
  }))
)

/** An actor or subject as one text: `user:42`. */
export const partyOf = (column: string): string => `(${column}->>'type' || ':' || coalesce(${column}->>'id', ''))`

/** A row as the driver gives it. */
interface Row extends Omit<AuditEntry, "id" | "at"> {
  readonly id: string
  readonly at: string
}

const fromRow = ({ at, id, ...row }: Row): AuditEntry => ({
  ...row,
  id: Number(id),
  at: DateTime.unsafeMake(Number(at))
})

/** Replaces characters that PostgreSQL cannot store. An address may come from a header. */
const storable = (text: string): string => text.slice(0, 300).replace(/[\0\p{Cs}]/gu, "\uFFFD")

const make = Effect.gen(function*() {
  const { prefix: p, query, transaction } = yield* Database
  const append = {
    name: `${p}audit_append`,
    text: `INSERT INTO ${p}audit (at, action, actor, subject, address, outcome, detail)
      VALUES ($1::bigint, $2::text, $3::json, $4::json, $5::text, $6::text, $7::text)`
  }
  const where = `id < $1::bigint AND ($3::text IS NULL OR action = $3::text) AND at >= $4::bigint AND at < $5::bigint`
  const columns = "id, at, action, actor, subject, address, outcome, detail"
  const list = {
    name: `${p}audit_list`,
    text: `SELECT ${columns} FROM ${p}audit WHERE ${where} ORDER BY id DESC LIMIT $2::integer`
  }
  // One query per side, so that each uses its own index.
  const sideOf = (side: string, other: string) =>
    `(
    SELECT id FROM ${p}audit WHERE ${where} AND ${partyOf(side)} = $6::text
      AND ($7::text IS NULL OR $7::text IN (${partyOf(side)}, ${partyOf(other)}))
    ORDER BY id DESC LIMIT $2::integer)`
  const listAbout = {
    name: `${p}audit_list_about`,
    text: `SELECT ${columns} FROM ${p}audit
      WHERE id IN (${sideOf("actor", "subject")} UNION ${sideOf("subject", "actor")})
      ORDER BY id DESC LIMIT $2::integer`
  }
  // The trigger in `ServiceTables` refuses to delete newer entries.
  const purge = {
    name: `${p}audit_purge`,
    text: `DELETE FROM ${p}audit WHERE id IN (
        SELECT id FROM ${p}audit
        WHERE at < least($1::bigint, (SELECT max(at) FROM ${p}audit) - ${Duration.toMillis(auditFloor)})
        LIMIT $2::integer
      ) RETURNING id`
  }
  const insert = ({ action, actor, address, at, detail, outcome, subject }: NewAuditEntry) =>
    Effect.asVoid(
      query(append, [
        Math.floor(at.epochMillis),
        action,
        JSON.stringify(actor),
        JSON.stringify(subject),
        storable(address),
        outcome,
        storable(detail)
      ])
    )
  return AuditLog.of({
    append: insert,
    record: yield* makeRecord(insert),
    list: ({ action, after, applicationId, limit, since, until, userId }) => {
      const parties = [
        ...Option.toArray(Option.map(userId, (id) => `user:${id}`)),
        ...Option.toArray(Option.map(applicationId, (id) => `application:${id}`))
      ]
      const common = [
        Option.getOrElse(after, () => Number.MAX_SAFE_INTEGER),
        limit,
        Option.getOrNull(action),
        Option.match(since, { onNone: () => 0, onSome: ({ epochMillis }) => Math.ceil(epochMillis) }),
        Option.match(until, {
          onNone: () => Number.MAX_SAFE_INTEGER,
          onSome: ({ epochMillis }) => Math.ceil(epochMillis)
        })
      ]
      const [first, second = null] = parties
      const rows = first === undefined ? query<Row>(list, common) : query<Row>(listAbout, [...common, first, second])
      return Effect.map(rows, (found) => found.map(fromRow))
    },
    together: transaction,
    purge: (before, limit) => Effect.map(query(purge, [Math.floor(before.epochMillis), limit]), (rows) => rows.length)
  })
})

/** The audit in the service's own table. */
export const layer: Layer.Layer<AuditLog, never, Database> = Layer.scoped(AuditLog, make)
