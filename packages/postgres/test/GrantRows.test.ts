import { describe, expect, it } from "@effect/vitest"
import { Secrets, type Token } from "@startlist/core"
import { DateTime, Equal, FastCheck } from "effect"
import { fromAccess, toAccess } from "../src/internal/grantRows.ts"
import { toInstant } from "../src/internal/rows.ts"

const instant = FastCheck.integer({ min: 0, max: 4_000_000_000_000 }).map((millis) => DateTime.unsafeMake(millis))

const lifetime = FastCheck.oneof(FastCheck.constant(1000), FastCheck.integer({ min: 0, max: 1_000_000_000 }))

const token: FastCheck.Arbitrary<Token.AccessToken> = FastCheck.record({
  hash: FastCheck.stringMatching(/^[\w-]{1,22}$/).map((text) => Secrets.Fingerprint.make(text)),
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

describe("the column of the access tokens of a grant", () => {
  it.prop("is read as it was written", [tokens], ([list]) => {
    expect(toAccess(fromAccess(list))).toStrictEqual(list)
  })

  it.prop("names lifetime and scope only where these change", [token, tokens], ([first, list]) => {
    const all = [first, ...list]
    const terms = all.map(({ createdAt, expiresAt, scope }) =>
      JSON.stringify([expiresAt.epochMillis - createdAt.epochMillis, scope])
    )
    const changes = terms.filter((one, index) => one !== terms[index - 1]).length
    expect(fromAccess(all).split("\n")).toHaveLength(1 + all.length + changes)
  })
})

it.prop("an instant of a row is like any other", [instant], ([made]) => {
  const read = toInstant(made.epochMillis)
  expect(read).toStrictEqual(made)
  expect(DateTime.formatIso(read)).toBe(DateTime.formatIso(made))
  expect(DateTime.toPartsUtc(read)).toEqual(DateTime.toPartsUtc(made))
  expect(Equal.equals(read, made) && Equal.equals(made, read) && DateTime.isUtc(read)).toBe(true)
})
