/**
 * The access tokens of a grant, oldest first, as one text. Each token is a line: a line feed, its fingerprint
 * (`Secrets.shortened`), and its creation. Before a token whose lifetime or scope differ from those of the token before
 * it is a line with both, which begins with a space. Times are in milliseconds to the base 36.
 *
 * Every refresh and every check of a bearer reads them. As records, they would take a fifth of the time of a refresh
 * and cause a third of its garbage. Tokens that repeat their lifetime and scope would double the text of a grant that is
 * refreshed all the time.
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { TokenHash } from "./Secrets.ts"
import { trusted } from "./Store.ts"
import { type AccessToken, isOver } from "./Token.ts"

export const AccessTokens = Schema.String.pipe(
  Schema.pattern(/^(\n -?[0-9a-z]+( \S+)*(\n\S+ -?[0-9a-z]+)+)*$/),
  Schema.brand("@startlist/AccessTokens")
)
export type AccessTokens = typeof AccessTokens.Type

export const none: AccessTokens = trusted(AccessTokens, "")

const base = 36

/** The end of the line that begins here. */
const endOf = (tokens: AccessTokens, start: number): number => {
  const end = tokens.indexOf("\n", start + 1)
  return end < 0 ? tokens.length : end
}

/** The start of the line with the lifetime and scope of the token that begins here. */
const termsOf = (tokens: AccessTokens, start: number): number => tokens.lastIndexOf("\n ", start)

/** Returns the start of the first token at or after this line, or the length of the text if no token follows. */
const tokenAt = (tokens: AccessTokens, start: number): number =>
  tokens.startsWith("\n ", start) ? endOf(tokens, start) : start

/** Returns the start of the token after the one that begins here, or the length of the text. */
const after = (tokens: AccessTokens, start: number): number => tokenAt(tokens, endOf(tokens, start))

const parse = (tokens: AccessTokens, start: number): AccessToken => {
  const terms = termsOf(tokens, start)
  const [hash = "", created = ""] = tokens.slice(start + 1, endOf(tokens, start)).split(" ")
  const [lifetime = "", ...scope] = tokens.slice(terms + 2, endOf(tokens, terms)).split(" ")
  const createdAt = parseInt(created, base)
  return {
    hash: trusted(TokenHash, hash),
    scope,
    createdAt: DateTime.unsafeMake(createdAt),
    expiresAt: DateTime.unsafeMake(createdAt + parseInt(lifetime, base))
  }
}

/** The tokens from this one on. */
const from = (tokens: AccessTokens, start: number): AccessTokens => {
  if (start === tokens.length) return none
  const terms = termsOf(tokens, start)
  return trusted(AccessTokens, tokens.slice(terms, endOf(tokens, terms)) + tokens.slice(start))
}

/** Removes expired tokens at the front, up to the first valid one. */
export const withoutExpired = (tokens: AccessTokens, now: DateTime.Utc): AccessTokens => {
  let start = tokenAt(tokens, 0)
  while (start < tokens.length && isOver(parse(tokens, start).expiresAt, now)) start = after(tokens, start)
  return from(tokens, start)
}

const count = (tokens: AccessTokens): number => {
  let found = 0
  for (let start = tokenAt(tokens, 0); start < tokens.length; start = after(tokens, start)) found++
  return found
}

const append = (tokens: AccessTokens, { createdAt, expiresAt, hash, scope }: AccessToken): AccessTokens => {
  const created = Math.ceil(createdAt.epochMillis)
  const lifetime = Math.ceil(expiresAt.epochMillis) - created
  let terms = `\n ${lifetime.toString(base)}`
  for (const name of scope) terms += ` ${name}`
  const last = termsOf(tokens, tokens.length)
  const isSame = last >= 0 && tokens.slice(last, endOf(tokens, last)) === terms
  return trusted(AccessTokens, `${tokens}${isSame ? "" : terms}\n${hash} ${created.toString(base)}`)
}

/** Adds a token. Removes expired tokens, and tokens beyond the limit, at the front. */
export const add = (tokens: AccessTokens, added: AccessToken, limit: number, now: DateTime.Utc): AccessTokens => {
  const live = withoutExpired(tokens, now)
  let start = tokenAt(live, 0)
  for (let excess = count(live) + 1 - limit; excess > 0; excess--) start = after(live, start)
  return append(from(live, start), added)
}

/** The token with this fingerprint. The search begins with the newest one, which clients use most. */
export const find = (tokens: AccessTokens, hash: TokenHash): Option.Option<AccessToken> => {
  const start = tokens.lastIndexOf(`\n${hash} `)
  return start < 0 ? Option.none() : Option.some(parse(tokens, start))
}

export const toArray = (tokens: AccessTokens): ReadonlyArray<AccessToken> => {
  const found: Array<AccessToken> = []
  for (let start = tokenAt(tokens, 0); start < tokens.length; start = after(tokens, start)) {
    found.push(parse(tokens, start))
  }
  return found
}

export const fromArray = (tokens: ReadonlyArray<AccessToken>): AccessTokens => tokens.reduce(append, none)

/** Removes this number of tokens at the end. */
export const withoutNewest = (tokens: AccessTokens, count: number): AccessTokens =>
  fromArray(toArray(tokens).slice(0, -count))
