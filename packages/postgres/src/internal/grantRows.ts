/** How a grant looks in its row. Rows are not validated again: this is the hot path. */
import type { Grant } from "@startlist/core/Grant"
import type { AccessToken, Code, RefreshToken, Scope } from "@startlist/core/Token"
import type { Role } from "@startlist/core/User"
import * as Option from "effect/Option"
import type * as Input from "./input.ts"
import { type Int8, millisOf, toApplicationId, toHash, toInstant, toUserId } from "./rows.ts"

export interface GrantRow {
  readonly application_id: Int8
  readonly user_id: Int8
  readonly granted_at: Int8
  readonly epoch: number
  readonly active: boolean
  readonly role: Role
  /** The scope of the grant, and behind it the other scopes that its access tokens have. */
  readonly scopes: readonly [Scope, ...ReadonlyArray<Scope>]
  readonly codes: ReadonlyArray<CodeRow> | null
  readonly access: string | null
  readonly refresh_hash: string | null
  readonly refresh_salt: string | null
  readonly refresh_issued: Int8 | null
  readonly refresh_expires: Int8 | null
  readonly version: number
  readonly generation: number
}

interface CodeRow {
  readonly hash: string
  readonly redirectUri: string
  readonly scope: Scope
  readonly state: string | null
  readonly challenge: string | null
  readonly expires: number
  readonly redeemed: boolean
}

const toCode = ({ challenge, expires, hash, redeemed, redirectUri, scope, state }: CodeRow): Code => ({
  hash: toHash(hash),
  redirectUri,
  scope,
  state: Option.fromNullable(state),
  challenge: Option.fromNullable(challenge),
  expiresAt: toInstant(expires),
  redeemed
})

const fromCode = ({ challenge, expiresAt, hash, redeemed, redirectUri, scope, state }: Code): CodeRow => ({
  hash,
  redirectUri,
  scope,
  state: Option.getOrNull(state),
  challenge: Option.getOrNull(challenge),
  expires: millisOf(expiresAt),
  redeemed
})

const toRefreshToken = (row: GrantRow): Option.Option<RefreshToken> =>
  row.refresh_hash === null || row.refresh_salt === null || row.refresh_issued === null || row.refresh_expires === null
    ? Option.none()
    : Option.some({
      hash: toHash(row.refresh_hash),
      salt: row.refresh_salt,
      issuedAt: toInstant(row.refresh_issued),
      expiresAt: toInstant(row.refresh_expires)
    })

const isSame = (one: Scope, other: Scope): boolean =>
  one === other || one.length === other.length && one.every((name, place) => name === other[place])

const scopesOf = ({ access, scope }: Grant): ReadonlyArray<Scope> => {
  const scopes = [scope]
  for (const token of access) {
    if (token.scope !== scope && !scopes.some((known) => isSame(known, token.scope))) scopes.push(token.scope)
  }
  return scopes
}

/** Numbers to this base are short. */
const base = 36

/** Eight hours (requirements §8). Any other lifetime is written. */
const usualLifetime = 28_800_000

/**
 * One text: fingerprint and creation of each token; behind them its lifetime and the place of its scope, if they are not
 * the usual ones. As JSON, a grant with 20 tokens would be three times as large.
 */
const fromAccess = (grant: Grant): string | null => {
  let text = ""
  for (const { createdAt, expiresAt, hash, scope } of grant.access) {
    const created = millisOf(createdAt)
    const lifetime = millisOf(expiresAt) - created
    text += `${text === "" ? "" : ","}${hash} ${created.toString(base)}`
    if (lifetime !== usualLifetime || scope !== grant.scope) {
      const place = scopesOf(grant).findIndex((known) => isSame(known, scope))
      text += ` ${lifetime.toString(base)} ${place}`
    }
  }
  return text === "" ? null : text
}

const toAccess = (text: string | null, scopes: GrantRow["scopes"]): ReadonlyArray<AccessToken> =>
  text === null ? [] : text.split(",").map((entry) => {
    const space = entry.indexOf(" ")
    const rest = entry.indexOf(" ", space + 1)
    const createdAt = parseInt(entry.slice(space + 1), base)
    const hash = toHash(entry.slice(0, space))
    if (rest < 0) {
      const expiresAt = toInstant(createdAt + usualLifetime)
      return { hash, scope: scopes[0], createdAt: toInstant(createdAt), expiresAt }
    }
    const [lifetime = "", place] = entry.slice(rest + 1).split(" ")
    return {
      hash,
      scope: scopes[Number(place)] ?? scopes[0],
      createdAt: toInstant(createdAt),
      expiresAt: toInstant(createdAt + parseInt(lifetime, base))
    }
  })

export const toGrant = (row: GrantRow): Grant => ({
  applicationId: toApplicationId(row.application_id),
  userId: toUserId(row.user_id),
  version: row.version,
  status: row.active ? "active" : "revoked",
  role: row.role,
  scope: row.scopes[0],
  epoch: row.epoch,
  generation: row.generation,
  grantedAt: toInstant(row.granted_at),
  refresh: toRefreshToken(row),
  access: toAccess(row.access, row.scopes),
  codes: row.codes === null ? [] : row.codes.map(toCode)
})

const ofRefresh = <A>(grant: Grant, of: (token: RefreshToken) => A): A | null =>
  Option.isSome(grant.refresh) ? of(grant.refresh.value) : null

/** The key of a grant. */
export const keyColumns: ReadonlyArray<Input.Column<Pick<Grant, "applicationId" | "userId">>> = [
  ["application_id", "bigint", ({ applicationId }) => applicationId],
  ["user_id", "bigint", ({ userId }) => userId]
]

/** Everything else, in the order of the table: what changes with every refresh is last, and so the log is short. */
export const valueColumns: ReadonlyArray<Input.Column<Grant>> = [
  ["granted_at", "bigint", ({ grantedAt }) => millisOf(grantedAt)],
  ["epoch", "integer", ({ epoch }) => epoch],
  ["active", "boolean", ({ status }) => status === "active"],
  ["role", "text", ({ role }) => role],
  ["scopes", "json", scopesOf],
  ["codes", "json", ({ codes }) => codes.length === 0 ? null : codes.map(fromCode)],
  ["access", "text", fromAccess],
  ["refresh_hash", "text", (grant) => ofRefresh(grant, ({ hash }) => hash)],
  ["refresh_salt", "text", (grant) => ofRefresh(grant, ({ salt }) => salt)],
  ["refresh_issued", "bigint", (grant) => ofRefresh(grant, ({ issuedAt }) => millisOf(issuedAt))],
  ["refresh_expires", "bigint", (grant) => ofRefresh(grant, ({ expiresAt }) => millisOf(expiresAt))],
  ["version", "integer", ({ version }) => version],
  ["generation", "integer", ({ generation }) => generation]
]
