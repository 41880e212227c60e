import { describe, expect, it } from "@effect/vitest"
import { Duration, Option } from "effect"
import { retryAfter } from "../src/internal/Messages.ts"

const now = Date.UTC(1994, 10, 6, 8, 49, 0)
const seconds = (value: string) => Option.getOrUndefined(Option.map(retryAfter(value, now), Duration.toSeconds))

describe("Retry-After", () => {
  it.each([
    ["1", 1],
    ["120", 120],
    ["Sun, 06 Nov 1994 08:49:37 GMT", 37],
    ["Sunday, 06-Nov-94 08:49:37 GMT", 37],
    ["Sun Nov  6 08:49:37 1994", 37]
  ])("%s asks for %i s", (value, expected) => expect(seconds(value)).toBe(expected))

  it.each(["86401", "999999999999", "9".repeat(400), "Sun, 06 Nov 2094 08:49:37 GMT"])(
    "%s counts as a day",
    (value) => expect(seconds(value)).toBe(86_400)
  )

  it.each([
    "",
    "0",
    "-1",
    "+5",
    "1.5",
    "1e9",
    "soon",
    "0x10",
    "NaN",
    "Infinity",
    "Sun, 06 Nov 1994 08:48:00 GMT",
    "Sun, 99 Foo"
  ])(
    "%j causes no wait",
    (value) => expect(seconds(value)).toBeUndefined()
  )
})
