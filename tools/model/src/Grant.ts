/**
 * The rules of one grant, as the documentation states them: the result of each request, and the grant after it. Programs, the
 * simulation and the histories of real nodes are judged by these rules. Codes and pairs of tokens have numbers. Times are seconds.
 */

interface Credential {
  /** The life of the grant to which it belongs. */
  readonly life: number
  readonly expiresAt: number
}

/** A line of tokens: those of one exchange and of the refreshes after it (law 1c). */
interface Token extends Credential {
  readonly line: number
}

interface Code extends Credential {
  /** Its exchange, and the line that began. */
  readonly use: { readonly at: number; readonly line: number } | null
}

export interface Grant {
  readonly isAlive: boolean
  /** Number of consents after revocations. */
  readonly life: number
  /** Number of exchanges in this life. Only the last line can be refreshed. */
  readonly line: number
  readonly codes: Readonly<Record<number, Code>>
  /** By pair of tokens: its access token, and its refresh token. */
  readonly access: Readonly<Record<number, Token>>
  readonly refresh: Readonly<Record<number, Token>>
  /** The pairs of tokens whose refresh tokens are the current one and the one before. None: the last line has ended. */
  readonly current: number | null
  readonly previous: number | null
  readonly rotatedAt: number
  /** The request for which the current pair was issued. */
  readonly origin: string
}

/** Before the first consent. */
export const none: Grant = {
  isAlive: false,
  life: 0,
  line: 0,
  codes: {},
  access: {},
  refresh: {},
  current: null,
  previous: null,
  rotatedAt: 0,
  origin: ""
}

export interface Outcome {
  /** "ok", or the reason of the refusal. */
  readonly result: string
  /** The same grant if nothing is saved. */
  readonly grant: Grant
  /** The pair of tokens in the answer. */
  readonly pair?: number | null
}

const codeLifetime = 5 * 60
const accessLifetime = 28_800
const refreshIdle = 90 * 86_400
const replayGrace = 60
const retryWindow = 600
const maxAccessTokens = 20
const maxCodes = 20

/** Whether a credential belongs to the current life of its grant. */
const isLive = ({ isAlive, life }: Grant, credential: Credential): boolean => isAlive && credential.life === life

/** The credentials without the oldest that have not expired, if there are more than `limit`. */
const newest = <A extends Credential>(
  all: Readonly<Record<number, A>>,
  limit: number,
  at: number
): Readonly<Record<number, A>> => {
  const live = Object.entries(all).filter(([, { expiresAt }]) => at < expiresAt)
  const gone = new Set(live.slice(0, Math.max(0, live.length - limit)).map(([place]) => place))
  return gone.size === 0 ? all : Object.fromEntries(Object.entries(all).filter(([place]) => !gone.has(place)))
}

/** A consent, which issues a code. */
export const consent = (grant: Grant, code: number, at: number): Grant => {
  const { access, codes, refresh } = grant
  const living = grant.isAlive ? grant : { ...none, access, codes, refresh, isAlive: true, life: grant.life + 1 }
  const issued = { life: living.life, expiresAt: at + codeLifetime, use: null }
  return { ...living, codes: newest({ ...codes, [code]: issued }, maxCodes, at) }
}

export const end = (grant: Grant): Grant => ({ ...grant, isAlive: false })

const issue = (grant: Grant, pair: number, origin: string, at: number): Outcome => {
  const { current: previous, life, line } = grant
  const access = newest(
    { ...grant.access, [pair]: { life, line, expiresAt: at + accessLifetime } },
    maxAccessTokens,
    at
  )
  const refresh = { ...grant.refresh, [pair]: { life, line, expiresAt: at + refreshIdle } }
  return { result: "ok", grant: { ...grant, access, refresh, current: pair, previous, rotatedAt: at, origin }, pair }
}

/** Whether the current pair is the answer to an equal request, and is issued once more (law 1b). */
const repeats = ({ current, origin, rotatedAt }: Grant, asked: string, key: string, at: number): boolean =>
  key !== "" && current !== null && origin === asked && at < rotatedAt + retryWindow

/** What a used code or a replaced refresh token causes beside its refusal (`REPLAY`). */
export type Replay = "refuse" | "revoke"

/** A request for tokens, which issues `pair`. `key` is its `Idempotency-Key`, or empty. */
interface Asked {
  readonly key: string
  readonly pair: number
  readonly at: number
  readonly replay: Replay
}

/** A second use. By the policy, the line that is the last one ends: its refresh token and its access tokens. */
const usedAgain = (grant: Grant, reason: string, line: number, usedAt: number, { at, replay }: Asked): Outcome => {
  const isLast = line === grant.line && grant.current !== null
  if (replay === "refuse" || !isLast || at < usedAt + replayGrace) return { result: reason, grant }
  const { life } = grant
  const others = Object.entries(grant.access).filter(([, token]) => token.life !== life || token.line !== line)
  const left = { ...grant, access: Object.fromEntries(others), current: null, previous: null }
  return { result: "replayed", grant: left }
}

/** The exchange of a code. `fits`: client, redirect URI and verifier are those of the code. */
export const redeem = (
  grant: Grant,
  code: number,
  asking: Asked & { readonly fits: boolean }
): Outcome => {
  const { at, fits, key, pair } = asking
  const found = grant.codes[code]
  if (found === undefined || at >= found.expiresAt || !isLive(grant, found)) return { result: "unknown", grant }
  if (!fits) return { result: "mismatch", grant }
  const asked = `code ${code} ${key}`
  if (found.use === null) {
    const use = { at, line: grant.line + 1 }
    return issue({ ...grant, line: use.line, codes: { ...grant.codes, [code]: { ...found, use } } }, pair, asked, at)
  }
  return repeats(grant, asked, key, at)
    ? { result: "ok", grant, pair: grant.current }
    : usedAgain(grant, "used", found.use.line, found.use.at, asking)
}

/** A refresh. `isOwner`: the client is that of the token. */
export const refresh = (
  grant: Grant,
  token: number,
  asking: Asked & { readonly isOwner: boolean }
): Outcome => {
  const { at, isOwner, key, pair } = asking
  const found = grant.refresh[token]
  if (found === undefined) return { result: "unknown", grant }
  if (!isOwner) return { result: "mismatch", grant }
  if (!isLive(grant, found)) return { result: "revoked", grant }
  const asked = `refresh token ${token} ${key}`
  if (grant.current !== token) {
    if (grant.current === null) return { result: "ended", grant }
    if (found.line !== grant.line) return { result: "superseded", grant }
    if (repeats(grant, asked, key, at)) return { result: "ok", grant, pair: grant.current }
    const replacedAt = grant.previous === token ? grant.rotatedAt : -Infinity
    return usedAgain(grant, "replaced", found.line, replacedAt, asking)
  }
  return at < found.expiresAt ? issue(grant, pair, asked, at) : { result: "expired", grant }
}

/** A revocation by the client of a token. A token that is no longer good changes nothing. */
export const revoke = (grant: Grant, by: "access" | "refresh", token: number, at: number): Grant => {
  const found = grant[by][token]
  return found !== undefined && isLive(grant, found) && (by === "refresh" || at < found.expiresAt) ? end(grant) : grant
}

/** Whether the access token of a pair is good. */
export const accepts = (grant: Grant, pair: number, at: number): boolean => {
  const found = grant.access[pair]
  return found !== undefined && isLive(grant, found) && at < found.expiresAt
}

/** Whether the refresh token of a pair is the current one. */
export const isCurrent = (grant: Grant, pair: number, at: number): boolean => {
  const found = grant.refresh[pair]
  return found !== undefined && isLive(grant, found) && grant.current === pair && at < found.expiresAt
}
