/** Converts grants to rows and back. Rows are not validated again, because this is the hot path. */
import type { Grant } from "@startlist/core/Grant"
import type { AccessToken, Code, Name, RefreshToken, Scope } from "@startlist/core/Token"
import type { Role } from "@startlist/core/User"
import * as Option from "effect/Option"
import type * as Batch from "./batch.ts"
import { type Int8, millisOf, toApplicationId, toFingerprint, toInstant, toUserId } from "./rows.ts"

export interface GrantRow {
  readonly application_id: Int8
  readonly user_id: Int8
  readonly application_epoch: number
  readonly active: boolean
  readonly consent: Consent
  readonly codes: ReadonlyArray<CodeRow> | null
  readonly access: string
  /** Hash, salt, issue and expiry of the current refresh token. */
  readonly refresh: string | null
  readonly generation: number
  readonly version: number
}

/**
 * One column for all values that rarely change, because each column has a cost in every find and save. Rows of nodes of
 * the previous version have no `line`.
 */
interface Consent {
  readonly role: Role
  readonly scope: Scope
  readonly epoch: number
  readonly at: number
  readonly line?: number
}

interface CodeRow {
  readonly hash: string
  readonly redirectUri: string
  readonly scope: Scope
  readonly state: string | null
  readonly challenge: string | null
  readonly expires: number
  readonly redeemed: boolean
  /** When the code was redeemed, and the line that it began. */
  readonly at?: number
  readonly line?: number
}

const toCode = (
  { at = 0, challenge, expires, hash, line = 0, redeemed, redirectUri, scope, state }: CodeRow
): Code => ({
  hash: toFingerprint(hash),
  redirectUri,
  scope,
  state: Option.fromNullable(state),
  challenge: Option.fromNullable(challenge),
  expiresAt: toInstant(expires),
  redeemed: redeemed ? Option.some({ at: toInstant(at), line }) : Option.none()
})

const fromCode = ({ challenge, expiresAt, hash, redeemed, redirectUri, scope, state }: Code): CodeRow => ({
  hash,
  redirectUri,
  scope,
  state: Option.getOrNull(state),
  challenge: Option.getOrNull(challenge),
  expires: millisOf(expiresAt),
  redeemed: Option.isSome(redeemed),
  ...Option.isSome(redeemed) ? { at: millisOf(redeemed.value.at), line: redeemed.value.line } : {}
})

/** Base of numbers in text, to keep them short. */
const base = 36

const toRefresh = (text: string): RefreshToken => {
  const [hash = "", salt = "", issued = "", expires = ""] = text.split(" ")
  const [issuedAt, expiresAt] = [toInstant(parseInt(issued, base)), toInstant(parseInt(expires, base))]
  return { hash: toFingerprint(hash), salt, issuedAt, expiresAt }
}

const fromRefresh = ({ expiresAt, hash, issuedAt, salt }: RefreshToken): string =>
  `${hash} ${salt} ${millisOf(issuedAt).toString(base)} ${millisOf(expiresAt).toString(base)}`

/**
 * Reads the access tokens of a grant from the text of one column, oldest first. Each token is a line: a line feed, its
 * fingerprint, and its creation, counted from that of the token before it. Before a token whose lifetime or scope differ
 * from those of the token before it is a line with both, which begins with a space. Times are in milliseconds to the
 * base 36.
 *
 * Every check of a bearer reads this text, and every refresh also writes it. As JSON, it would be three times as long.
 */
export const toAccess = (text: string): ReadonlyArray<AccessToken> => {
  const tokens: Array<AccessToken> = []
  let lifetime = 0
  let scope: Scope = []
  let created = 0
  let end = 0
  for (let start = 1; start < text.length; start = end + 1) {
    const next = text.indexOf("\n", start)
    end = next < 0 ? text.length : next
    const space = text.indexOf(" ", start)
    if (space === start) {
      const [span = "", ...names] = text.slice(start + 1, end).split(" ")
      lifetime = parseInt(span, base)
      scope = names
    } else {
      created += parseInt(text.slice(space + 1, end), base)
      tokens.push({
        hash: toFingerprint(text.slice(start, space)),
        scope,
        createdAt: toInstant(created),
        expiresAt: toInstant(created + lifetime)
      })
    }
  }
  return tokens
}

export const fromAccess = (tokens: ReadonlyArray<AccessToken>): string => {
  let text = ""
  let last = 0
  let [lastLifetime, lastScope, lastTerms]: readonly [number, Scope, string] = [NaN, [], ""]
  for (const { createdAt, expiresAt, hash, scope } of tokens) {
    const created = millisOf(createdAt)
    const lifetime = millisOf(expiresAt) - created
    if (lifetime !== lastLifetime || scope !== lastScope) {
      const terms = ["\n", lifetime.toString(base), ...scope].join(" ")
      if (terms !== lastTerms) text += terms
      ;[lastLifetime, lastScope, lastTerms] = [lifetime, scope, terms]
    }
    text += `\n${hash} ${(created - last).toString(base)}`
    last = created
  }
  return text
}

const toConsent = ({ epoch, grantedAt, lineStart, role, scope }: Grant): Consent => ({
  role,
  scope,
  epoch,
  at: millisOf(grantedAt),
  line: lineStart
})

export const toGrant = (row: GrantRow): Grant => ({
  applicationId: toApplicationId(row.application_id),
  userId: toUserId(row.user_id),
  version: row.version,
  status: row.active ? "active" : "revoked",
  role: row.consent.role,
  scope: row.consent.scope,
  epoch: row.consent.epoch,
  applicationEpoch: row.application_epoch,
  generation: row.generation,
  lineStart: row.consent.line ?? 0,
  grantedAt: toInstant(row.consent.at),
  refresh: row.refresh === null ? Option.none() : Option.some(toRefresh(row.refresh)),
  access: toAccess(row.access),
  codes: row.codes === null ? [] : row.codes.map(toCode)
})

/** The key of a grant. */
export const keyColumns: ReadonlyArray<Batch.Column<Name>> = [
  ["application_id", "bigint", ({ applicationId }) => applicationId],
  ["user_id", "bigint", ({ userId }) => userId]
]

/**
 * All other columns in the order of the table. Those that every refresh changes are last, which keeps the log short.
 */
export const valueColumns: ReadonlyArray<Batch.Column<Grant>> = [
  ["application_epoch", "integer", ({ applicationEpoch }) => applicationEpoch],
  ["active", "boolean", ({ status }) => status === "active"],
  ["consent", "json", toConsent],
  ["codes", "json", ({ codes }) => codes.length === 0 ? null : codes.map(fromCode)],
  ["access", "text", ({ access }) => fromAccess(access)],
  ["refresh", "text", ({ refresh }) => Option.isSome(refresh) ? fromRefresh(refresh.value) : null],
  ["generation", "integer", ({ generation }) => generation],
  ["version", "integer", ({ version }) => version]
]
