/**
 * The access tokens of a grant as the text of one column, oldest first. Each token is a line: a line feed, its
 * fingerprint, and its creation, counted from that of the token before it. Before a token whose lifetime or scope differ
 * from those of the token before it is a line with both, which begins with a space. Times are in milliseconds to the
 * base 36.
 *
 * Every check of a bearer reads this text, and every refresh also writes it. As JSON, it would be three times as long.
 */
import type { AccessToken, Scope } from "@startlist/core/Token"
import { millisOf, toFingerprint, toInstant } from "./rows.ts"

const base = 36

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
