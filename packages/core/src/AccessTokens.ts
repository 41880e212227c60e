/**
 * The access tokens of a grant, oldest first, as one text. Each token is a line: a line feed, its fingerprint
 * (`Secrets.shortened`), its creation and lifetime in milliseconds to the base 36, and its scope.
 *
 * Every refresh and every check of a bearer reads them. As records, they would take a fifth of the time of a refresh
 * and cause a third of its garbage.
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { TokenHash } from "./Secrets.ts"
import { trusted } from "./Store.ts"
import { type AccessToken, isOver } from "./Token.ts"

export const AccessTokens = Schema.String.pipe(
  Schema.pattern(/^(\n[^\s]+ -?[0-9a-z]+ -?[0-9a-z]+( [^\s]+)*)*$/),
  Schema.brand("@startlist/AccessTokens")
)
export type AccessTokens = typeof AccessTokens.Type

export const none: AccessTokens = trusted(AccessTokens, "")

const base = 36

const lineOf = ({ createdAt, expiresAt, hash, scope }: AccessToken): string => {
  const created = Math.ceil(createdAt.epochMillis)
  const lifetime = Math.ceil(expiresAt.epochMillis) - created
  let line = `\n${hash} ${created.toString(base)} ${lifetime.toString(base)}`
  for (const name of scope) line += ` ${name}`
  return line
}

/** The end of the line that begins here. */
const endOf = (tokens: AccessTokens, start: number): number => {
  const end = tokens.indexOf("\n", start + 1)
  return end < 0 ? tokens.length : end
}

const parse = (tokens: AccessTokens, start: number): AccessToken => {
  const [hash = "", created = "", lifetime = "", ...scope] = tokens.slice(start + 1, endOf(tokens, start)).split(" ")
  const createdAt = parseInt(created, base)
  return {
    hash: trusted(TokenHash, hash),
    scope,
    createdAt: DateTime.unsafeMake(createdAt),
    expiresAt: DateTime.unsafeMake(createdAt + parseInt(lifetime, base))
  }
}

/** Removes expired tokens at the front, up to the first valid one. */
export const withoutExpired = (tokens: AccessTokens, now: DateTime.Utc): AccessTokens => {
  let start = 0
  while (start < tokens.length && isOver(parse(tokens, start).expiresAt, now)) start = endOf(tokens, start)
  return trusted(AccessTokens, tokens.slice(start))
}

const count = (tokens: AccessTokens): number => {
  let found = 0
  for (let start = 0; start < tokens.length; start = endOf(tokens, start)) found++
  return found
}

/** Adds a token. Removes expired tokens, and tokens beyond the limit, at the front. */
export const add = (tokens: AccessTokens, added: AccessToken, limit: number, now: DateTime.Utc): AccessTokens => {
  const live = withoutExpired(tokens, now)
  let start = 0
  for (let excess = count(live) + 1 - limit; excess > 0; excess--) start = endOf(live, start)
  return trusted(AccessTokens, live.slice(start) + lineOf(added))
}

/** The token with this fingerprint. The search begins with the newest one, which clients use most. */
export const find = (tokens: AccessTokens, hash: TokenHash): Option.Option<AccessToken> => {
  const start = tokens.lastIndexOf(`\n${hash} `)
  return start < 0 ? Option.none() : Option.some(parse(tokens, start))
}

export const toArray = (tokens: AccessTokens): ReadonlyArray<AccessToken> => {
  const found: Array<AccessToken> = []
  for (let start = 0; start < tokens.length; start = endOf(tokens, start)) found.push(parse(tokens, start))
  return found
}

export const fromArray = (tokens: ReadonlyArray<AccessToken>): AccessTokens =>
  trusted(AccessTokens, tokens.map(lineOf).join(""))
