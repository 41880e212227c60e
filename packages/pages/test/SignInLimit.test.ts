import { expect, it } from "@effect/vitest"
import { SignInLimit } from "@startlist/pages"
import { Context } from "effect"

const limits = Context.get(Context.empty(), SignInLimit.PasswordLimits)
const keysOf = (email: string) => SignInLimit.strangerKeys(limits, email, "192.0.2.1")

it("all overlong e-mail addresses count as one account", () => {
  const [first] = keysOf("a".repeat(60_000))
  expect(first?.value.length).toBeLessThan(100)
  expect(keysOf("b".repeat(400))[0]).toEqual(first)
})

it("an e-mail address in any case counts as one account", () => {
  expect(keysOf("A@x.test")).toEqual(keysOf("a@X.test"))
})
