/** The audit in a table. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Database } from "@startlist/postgres/Database"
import { partyOf } from "./SqlTables.ts"
import { auditFloor, AuditLog, type Line, type Outcome, type Party } from "./AuditLog.ts"

interface Row {
  readonly id: string
  readonly at: string
  readonly action: string
  readonly actor: Party
  readonly subject: Party
  readonly address: string
  readonly outcome: Outcome
  readonly detail: string
}

const toLine = ({ at, id, ...row }: Row): Line => ({ ...row, id: Number(id), at: DateTime.unsafeMake(Number(at)) })

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
  // The trigger in `SqlTables` refuses to delete newer entries.
  const purge = {
    name: `${p}audit_purge`,
    text: `DELETE FROM ${p}audit WHERE id IN (
        SELECT id FROM ${p}audit
        WHERE at < least($1::bigint, (SELECT max(at) FROM ${p}audit) - ${Duration.toMillis(auditFloor)})
        LIMIT $2::integer
      ) RETURNING id`
  }
  return AuditLog.of({
    append: ({ action, actor, address, at, detail, outcome, subject }) =>
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
      ),
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
      return Effect.map(rows, (found) => found.map(toLine))
    },
    together: transaction,
    purge: (before, limit) => Effect.map(query(purge, [Math.floor(before.epochMillis), limit]), (rows) => rows.length)
  })
})

/** The audit in the service's own table. */
export const layer: Layer.Layer<AuditLog, never, Database> = Layer.effect(AuditLog, make)
