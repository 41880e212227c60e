import { describe, expect, it } from "@effect/vitest"
import { isAcceptable } from "../src/accounts/Password.ts"

describe("a new password", () => {
  for (
    const password of ["correct horse", "pass word", "übermäßig", "12 kilometres", "🏃🏃🏃🏃🏃🏃🏃🏃", "x".repeat(1000)]
  ) {
    it(`may be ${password.slice(0, 30)}`, () => expect(isAcceptable(password)).toBe(true))
  }
  const short = ["", "secret", "1234567", "e\u0301".repeat(7), "🏃🏃🏃🏃🏃🏃🏃"]
  const common = ["password", "Password", "12345678", "qwertyuiop", "iloveyou", "PASSW0RD", "trustno1", "football1"]
  for (const password of [...short, ...common, "x".repeat(1001)]) {
    it(`may not be ${password.slice(0, 30)}`, () => expect(isAcceptable(password)).toBe(false))
  }
})
