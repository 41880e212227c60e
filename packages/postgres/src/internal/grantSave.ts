/** The statement that saves grants: each row is judged on its own version, and takes its children with it. */
import type { Change } from "@startlist/core/Grant"
import * as Option from "effect/Option"
import type { Parameter, Statement } from "../Database.ts"
import * as Input from "./input.ts"
import { outbox, outgoingParameter } from "./outbox.ts"
import { millisOf, millisOrNull } from "./rows.ts"

/** Which branches a batch needs. A statement has only these: an empty branch costs too. */
interface Parts {
  readonly first: boolean
  readonly codes: boolean
  readonly redeemed: boolean
  readonly issued: boolean
  readonly outgoing: boolean
}

type Column = Input.Column<Change>

const grantColumns: ReadonlyArray<Column> = [
  ["application_id", "bigint", ({ grant }) => grant.applicationId],
  ["user_id", "bigint", ({ grant }) => grant.userId],
  ["version", "integer", ({ grant }) => grant.version],
  ["active", "boolean", ({ grant }) => grant.status === "active"],
  ["role", "text", ({ grant }) => grant.role],
  ["scope", "json", ({ grant }) => grant.scope],
  ["epoch", "integer", ({ grant }) => grant.epoch],
  ["generation", "integer", ({ grant }) => grant.generation],
  ["granted_at", "bigint", ({ grant }) => millisOf(grant.grantedAt)],
  ["issued_at", "bigint", ({ grant }) => millisOrNull(grant.issuedAt)]
]

/** Columns of what a change may have. */
const optional = <A>(
  part: (change: Change) => Option.Option<A>,
  columns: ReadonlyArray<Input.Column<A>>
): ReadonlyArray<Column> =>
  columns.map(([name, type, of]): Column => [name, type, (change, place) => {
    const option = part(change)
    return Option.isSome(option) ? of(option.value, place) : null
  }])

const codeColumns = optional(({ code }) => code, [
  ["code", "text", ({ hash }) => hash],
  ["code_epoch", "integer", ({ epoch }) => epoch],
  ["redirect_uri", "text", ({ redirectUri }) => redirectUri],
  ["code_scope", "json", ({ scope }) => scope],
  ["state", "text", ({ state }) => Option.getOrNull(state)],
  ["challenge", "text", ({ challenge }) => Option.getOrNull(challenge)],
  ["code_expires", "bigint", ({ expiresAt }) => millisOf(expiresAt)],
  ["code_redeemed", "boolean", ({ redeemed }) => redeemed]
])

const redeemedColumns = optional(({ redeemed }) => redeemed, [["redeemed", "text", (hash) => hash]])

const issuedColumns = optional(({ issued }) => issued, [
  ["access", "text", ({ access }) => access.hash],
  ["access_epoch", "integer", ({ access }) => access.epoch],
  ["access_scope", "json", ({ access }) => access.scope],
  ["access_created", "bigint", ({ access }) => millisOf(access.createdAt)],
  ["access_expires", "bigint", ({ access }) => millisOf(access.expiresAt)],
  ["refresh", "text", ({ refresh }) => refresh.hash],
  ["refresh_epoch", "integer", ({ refresh }) => refresh.epoch],
  ["refresh_generation", "integer", ({ refresh }) => refresh.generation],
  ["refresh_expires", "bigint", ({ refresh }) => millisOf(refresh.expiresAt)]
])

const columnsOf = ({ codes, issued, outgoing, redeemed }: Parts): ReadonlyArray<Column> => [
  ...grantColumns,
  ...codes ? codeColumns : [],
  ...redeemed ? redeemedColumns : [],
  ...issued ? issuedColumns : [],
  ...outgoing ? [Input.place] : []
]

const partsOf = (changes: ReadonlyArray<Change>): Parts => ({
  first: changes.some(({ grant }) => grant.version === 1),
  codes: changes.some(({ code }) => Option.isSome(code)),
  redeemed: changes.some(({ redeemed }) => Option.isSome(redeemed)),
  issued: changes.some(({ issued }) => Option.isSome(issued)),
  outgoing: changes.some(({ outgoing }) => outgoing.length > 0)
})

const lettersOf = ({ codes, first, issued, outgoing, redeemed }: Parts): string =>
  `${first ? "f" : ""}${codes ? "c" : ""}${redeemed ? "r" : ""}${issued ? "i" : ""}${outgoing ? "o" : ""}`

const byKey = ({ grant: a }: Change, { grant: b }: Change): number =>
  a.applicationId - b.applicationId || a.userId - b.userId

const saveText = (p: string, parts: Parts, columns: ReadonlyArray<Column>, isAlone: boolean): string => {
  const { codes, first, issued, outgoing, redeemed } = parts
  const key = "application_id, user_id"
  const update = `
  UPDATE ${p}grants g SET version = i.version, active = i.active, role = i.role, scope = i.scope, epoch = i.epoch,
    generation = i.generation, granted_at = i.granted_at, issued_at = i.issued_at
  FROM input i
  WHERE i.version > 1 AND g.application_id = i.application_id AND g.user_id = i.user_id AND g.version = i.version - 1
  RETURNING i.*`
  const ctes = [
    `input AS (${Input.rowsText(columns, isAlone)})`,
    outgoing && `given AS (SELECT ${Input.nextParameter(columns, isAlone)}::json AS outgoing)`,
    first ?
      `updated AS (${update}
),
inserted AS (
  INSERT INTO ${p}grants (${key}, version, active, role, scope, epoch, generation, granted_at, issued_at)
  SELECT ${key}, version, active, role, scope, epoch, generation, granted_at, issued_at FROM input WHERE version = 1
  ON CONFLICT (${key}) DO NOTHING RETURNING ${key}
),
saved AS MATERIALIZED (
  SELECT * FROM updated UNION ALL SELECT i.* FROM input i JOIN inserted n USING (${key})
)` :
      `saved AS (${update}
)`,
    codes && `new_codes AS (
  INSERT INTO ${p}codes (${key}, hash, epoch, redirect_uri, scope, state, challenge, expires_at, redeemed)
  SELECT ${key}, code, code_epoch, redirect_uri, code_scope, state, challenge, code_expires, code_redeemed
  FROM saved WHERE code IS NOT NULL
)`,
    redeemed && `used AS (
  UPDATE ${p}codes c SET redeemed = true FROM saved s
  WHERE c.hash = s.redeemed AND c.application_id = s.application_id AND c.user_id = s.user_id
)`,
    issued && `new_access AS (
  INSERT INTO ${p}access_tokens (${key}, hash, epoch, scope, created_at, expires_at)
  SELECT ${key}, access, access_epoch, access_scope, access_created, access_expires FROM saved WHERE access IS NOT NULL
),
new_refresh AS (
  INSERT INTO ${p}refresh_tokens (${key}, hash, epoch, generation, expires_at)
  SELECT ${key}, refresh, refresh_epoch, refresh_generation, refresh_expires FROM saved WHERE refresh IS NOT NULL
)`,
    outgoing && outbox(p, "given", "saved")
  ]
  return `WITH ${ctes.filter(Boolean).join(",\n")}
SELECT ${key}, ${outgoing ? "(SELECT count(*) FROM told)::integer" : "0"} AS told FROM saved`
}

/**
 * What saves a batch of changes: the statement with the branches that it needs, and its parameters.
 *
 * The input is sorted by key, so that rows are locked in one order and batches cannot wait for each other in a circle.
 * The statement answers the keys that were saved, each with the number of deliveries that it queued.
 */
export const saver = (
  p: string
): (changes: ReadonlyArray<Change>) => readonly [Statement, ReadonlyArray<Parameter>] => {
  const make = (name: string, parts: Parts) => {
    const columns = columnsOf(parts)
    return { columns, statement: Input.statement(name, (isAlone) => saveText(p, parts, columns, isAlone)) }
  }
  const known = new Map<string, ReturnType<typeof make>>()
  return (changes) => {
    const parts = partsOf(changes)
    const name = `${p}grant_save_${lettersOf(parts)}`
    const form = known.get(name) ?? make(name, parts)
    known.set(name, form)
    const sorted = [...changes].sort(byKey)
    const rows = Input.rowsParameters(form.columns, sorted)
    return [form.statement(sorted), parts.outgoing ? [...rows, outgoingParameter(sorted)] : rows]
  }
}
