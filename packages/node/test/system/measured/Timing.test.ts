/** Response times do not reveal secrets. */
import { describe, expect, it } from "@effect/vitest"
import { Memory } from "@startlist/core"
import { Accounts } from "@startlist/pages"
import * as TestSecrets from "@startlist/testing/TestSecrets"
import { Effect, Layer, Option, Redacted } from "effect"
import * as MemoryAccounts from "@startlist/test-support/MemoryAccounts"
import * as AccountStore from "../../../src/accounts/AccountStore.ts"
import * as LocalAccounts from "../../../src/accounts/LocalAccounts.ts"

const accounts = LocalAccounts.layer.pipe(
  Layer.provideMerge(MemoryAccounts.accounts),
  Layer.provide([Memory.layer, TestSecrets.layer("timing")])
)

/** The fault that the first test must detect: an unknown user is refused immediately. */
const hasty = Layer.effect(
  Accounts.Accounts,
  Effect.gen(function*() {
    const careful = yield* Accounts.Accounts
    const store = yield* AccountStore.AccountStore
    return {
      ...careful,
      verifyPassword: (email, password) =>
        Effect.flatMap(
          Effect.orDie(store.findByEmail(email)),
          Option.match({
            onNone: () => Effect.succeed(Accounts.PasswordCheck.Unknown()),
            onSome: () => careful.verifyPassword(email, password)
          })
        )
    }
  })
).pipe(Layer.provideMerge(accounts))

const median = (numbers: ReadonlyArray<number>): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

/** Microseconds of CPU time in all threads, without other programs on the machine. */
const cost = (effect: Effect.Effect<unknown, unknown>): Effect.Effect<number> =>
  Effect.suspend(() => {
    const before = process.cpuUsage()
    return Effect.map(Effect.orDie(effect), () => {
      const { system, user } = process.cpuUsage(before)
      return user + system
    })
  })

const wrong = Redacted.make("not the password")

/** Ratio of the costs of refusing a known and an unknown address: the quotient of the medians, measured in turns. */
const difference = Effect.gen(function*() {
  const { verifyPassword } = yield* Accounts.Accounts
  const { register } = yield* LocalAccounts.Registrar
  const email = "ada@example.test"
  yield* register({ role: "athlete", email, firstName: "Ada", lastName: "Lovelace" }, Redacted.make("the password"))
  const known: Array<number> = []
  const unknown: Array<number> = []
  // The first of each makes what the later ones use.
  yield* verifyPassword(email, wrong)
  yield* verifyPassword("nobody@example.test", wrong)
  for (let i = 0; i < 25; i++) {
    known.push(yield* cost(verifyPassword(email, wrong)))
    unknown.push(yield* cost(verifyPassword(`nobody${i}@example.test`, wrong)))
  }
  return median(known) / median(unknown)
})

describe("signing in", () => {
  it.live("costs as much for an address that nobody has as for a wrong password", () =>
    Effect.gen(function*() {
      const quotient = yield* Effect.provide(difference, accounts)
      expect(quotient).toBeGreaterThan(0.6)
      expect(quotient).toBeLessThan(1.7)
    }))

  it.live("the comparison detects a difference", () =>
    Effect.gen(function*() {
      expect(yield* Effect.provide(difference, hasty)).toBeGreaterThan(5)
    }))
})
