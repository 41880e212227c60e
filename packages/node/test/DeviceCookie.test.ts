import { describe, expect, it } from "@effect/vitest"
import { Duration, Option, Redacted } from "effect"
import { deviceLifetime } from "@startlist/pages/Sessions"
import * as SignedTokens from "../src/accounts/SignedTokens.ts"
import { keysFrom } from "../src/accounts/SignedTokens.ts"

const masterKey = (byte: number) => Redacted.make(Buffer.alloc(32, byte).toString("base64"))
const keysOf = (first: number, ...others: ReadonlyArray<number>) =>
  keysFrom([masterKey(first), ...others.map(masterKey)], "device cookie")
const keys = keysOf(1)
const now = 1_700_000_000_000
const cookie = SignedTokens.extendCookie(keys, "", "Ada@example.test", now)

const isKnown = (value: string, email: string, at = now, by = keys) =>
  Option.isSome(SignedTokens.browserOf(by, value, email, at))

describe("a device cookie", () => {
  it("proves a sign-in to its account only, without regard to case", () => {
    expect(isKnown(cookie, "ada@EXAMPLE.test")).toBe(true)
    expect(isKnown(cookie, "bob@example.test")).toBe(false)
  })

  it("contains nothing about the account", () => {
    // Words that a random value does not contain by chance.
    const other = SignedTokens.extendCookie(keys, "", "Augusta.Lovelace@example.test", now)
    expect(other).not.toMatch(/augusta|lovelace|example/i)
    expect(other).toMatch(/^[\w.~-]+$/)
  })

  it("is refused when any character is changed", () => {
    for (let i = 0; i < cookie.length; i++) {
      const changed = cookie.slice(0, i) + (cookie[i] === "x" ? "y" : "x") + cookie.slice(i + 1)
      // The last character of a signature carries four bits only.
      if (i < cookie.length - 1) expect(isKnown(changed, "ada@example.test"), `character ${i}`).toBe(false)
    }
  })

  it("survives a restart and a rotation of the master key, and is invalid without the key", () => {
    const rotated = keysOf(2, 1)
    expect(isKnown(cookie, "ada@example.test", now, keysOf(1))).toBe(true)
    expect(isKnown(cookie, "ada@example.test", now, rotated)).toBe(true)
    expect(isKnown(cookie, "ada@example.test", now, keysOf(2))).toBe(false)
  })

  it("expires", () => {
    const lifetime = Duration.toMillis(deviceLifetime)
    expect(isKnown(cookie, "ada@example.test", now + lifetime - 1)).toBe(true)
    expect(isKnown(cookie, "ada@example.test", now + lifetime)).toBe(false)
  })

  it("has the last four accounts of a browser, each with a new identifier at every sign-in", () => {
    const people = ["a", "b", "c", "d", "e"].map((name) => `${name}@example.test`)
    const all = people.reduce((value, email) => SignedTokens.extendCookie(keys, value, email, now), "")
    expect(people.map((email) => isKnown(all, email))).toEqual([false, true, true, true, true])
    const again = SignedTokens.extendCookie(keys, all, "d@example.test", now)
    expect(again.length).toBe(all.length)
    expect(SignedTokens.browserOf(keys, again, "d@example.test", now))
      .not.toEqual(SignedTokens.browserOf(keys, all, "d@example.test", now))
    expect(all.length).toBeLessThan(1000)
  })

  it("of any other form proves nothing", () => {
    for (const value of ["", "~", "~~~~~~", ".".repeat(5000), cookie.replaceAll(".", "~"), `${cookie}${cookie}`]) {
      expect(isKnown(value, "ada@example.test")).toBe(false)
    }
  })
})
