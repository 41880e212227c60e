import { describe, expect, it } from "@effect/vitest"
import { AccessTokens, Secrets, type Token } from "@startlist/core"
import { DateTime, FastCheck, Option, Schema } from "effect"

const instant = FastCheck.integer({ min: 0, max: 4_000_000_000_000 }).map((millis) => DateTime.unsafeMake(millis))

const lifetime = FastCheck.oneof(FastCheck.constant(1000), FastCheck.integer({ min: 0, max: 1_000_000_000 }))

const token: FastCheck.Arbitrary<Token.AccessToken> = FastCheck.record({
  hash: FastCheck.stringMatching(/^[\w-]{1,22}$/).map((text) => Secrets.TokenHash.make(text)),
  // Few, so that some follow their equals.
  scope: FastCheck.oneof(
    FastCheck.constant(["read"]),
    FastCheck.array(FastCheck.stringMatching(/^[!#-[\]-~]{1,10}$/), { maxLength: 3 })
  ),
  createdAt: instant,
  lifetime
}).map(({ lifetime, ...token }) => ({
  ...token,
  expiresAt: DateTime.unsafeMake(token.createdAt.epochMillis + lifetime)
}))

const tokens = FastCheck.array(token, { maxLength: 25 })

describe("the access tokens of a grant", () => {
  it.prop("are read as they were written", [tokens], ([list]) => {
    const text = AccessTokens.fromArray(list)
    expect(AccessTokens.toArray(text)).toStrictEqual(list)
    expect(Schema.is(AccessTokens.AccessTokens)(text)).toBe(true)
  })

  it.prop("name their lifetime and scope only where these change", [token, tokens], ([first, list]) => {
    const all = [first, ...list]
    const terms = all.map(({ createdAt, expiresAt, scope }) =>
      JSON.stringify([expiresAt.epochMillis - createdAt.epochMillis, scope])
    )
    const changes = terms.filter((one, index) => one !== terms[index - 1]).length
    expect(AccessTokens.fromArray(all).split("\n")).toHaveLength(1 + all.length + changes)
  })

  it.prop("are found by their fingerprint, the newest first", [tokens, token], ([list, other]) => {
    for (const { hash } of [...list, other]) {
      const expected = Option.fromNullable(list.findLast((one) => one.hash === hash))
      expect(AccessTokens.find(AccessTokens.fromArray(list), hash)).toStrictEqual(expected)
    }
  })

  it.prop(
    "lose expired ones at the front, and the oldest above the limit, when one is added",
    [tokens, token, FastCheck.integer({ min: 1, max: 25 }), instant],
    ([list, added, limit, now]) => {
      const live = list.findIndex(({ expiresAt }) => expiresAt.epochMillis > now.epochMillis)
      const kept = live < 0 ? [] : list.slice(live)
      const after = AccessTokens.add(AccessTokens.fromArray(list), added, limit, now)
      expect(AccessTokens.toArray(after)).toStrictEqual([...kept, added].slice(-limit))
      expect(AccessTokens.withoutExpired(AccessTokens.fromArray(list), now)).toBe(AccessTokens.fromArray(kept))
    }
  )
})
