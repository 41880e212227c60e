import { describe, expect, it } from "@effect/vitest"
import { MemoryThrottle, Throttle } from "@startlist/http"
import { Context, Duration, Effect, Option, Schema, TestClock } from "effect"

const loginKeys = (email: string, address: string) =>
  Throttle.loginKeys(Context.get(Context.empty(), Throttle.LoginLimit), email, address)

const limit: Throttle.Limit = { failures: 3, window: Duration.minutes(1) }
const key = { limit, value: "key" }
const other = { limit, value: "other" }

describe("the limit on guesses", () => {
  it.effect("a key has no attempts left after its last one, and only that key, until the window is over", () =>
    Effect.gen(function*() {
      const throttle = yield* Throttle.Throttle
      for (let i = 0; i < 3; i++) expect(yield* throttle.take([key])).toEqual(Option.none())
      const wait = yield* throttle.take([other, key])
      expect(Option.map(wait, Duration.lessThanOrEqualTo(limit.window))).toEqual(Option.some(true))
      for (let i = 0; i < 3; i++) {
        expect(yield* throttle.take([other]), "a refusal takes nothing").toEqual(Option.none())
      }
      yield* TestClock.adjust(limit.window)
      expect(yield* throttle.take([key])).toEqual(Option.none())
    }).pipe(Effect.provide(MemoryThrottle.layer)))

  it.effect.prop(
    "for any order of failed and returned attempts, the limit is never exceeded",
    { succeeds: Schema.Array(Schema.Boolean) },
    ({ succeeds }) =>
      Effect.gen(function*() {
        const throttle = yield* Throttle.Throttle
        let open = 0
        for (const success of succeeds) {
          const taken = Option.isNone(yield* throttle.take([key]))
          expect(taken).toBe(open < limit.failures)
          if (taken && success) yield* throttle.giveBack([key])
          else if (taken) open++
        }
      }).pipe(Effect.provide(MemoryThrottle.layer)),
    { fastCheck: { numRuns: 30 } }
  )

  it.effect("stores a bounded number of keys, and evicts the least recently used ones", () =>
    Effect.gen(function*() {
      const throttle = yield* Throttle.Throttle
      const keyOf = (n: number): Throttle.Key => ({ limit: { ...limit, failures: 1 }, value: `key ${n}` })
      const isBlocked = (n: number) => Effect.map(throttle.take([keyOf(n)]), Option.isSome)
      for (let n = 0; n <= 100_000; n++) {
        yield* throttle.take([keyOf(n)])
        if (n % 10_000 === 0) expect(yield* isBlocked(0)).toBe(true)
      }
      expect(yield* isBlocked(1)).toBe(false)
      expect(yield* isBlocked(100_000)).toBe(true)
    }).pipe(Effect.provide(MemoryThrottle.layer)))

  it("counts all overlong addresses as one", () => {
    const [first] = loginKeys("a".repeat(60_000), "192.0.2.1")
    expect(first?.value.length).toBeLessThan(100)
    expect(loginKeys("b".repeat(400), "192.0.2.1")[0]).toEqual(first)
  })

  it("counts an IPv6 network as one address, and a mapped IPv4 address as itself", () => {
    const valuesOf = (address: string) => Throttle.clientKeys(1, address).map(({ value }) => value)
    expect(valuesOf("2001:db8:1:2::1")).toEqual(valuesOf("2001:db8:1:2:ffff::9"))
    expect(valuesOf("2001:db8:1:2::1")).not.toEqual(valuesOf("2001:db8:1:3::1"))
    expect(valuesOf("::ffff:192.0.2.1")).toEqual(valuesOf("192.0.2.1"))
    expect(valuesOf("192.0.2.1")).not.toEqual(valuesOf("192.0.2.2"))
  })

  it("counts an e-mail address in any case as one account", () => {
    expect(loginKeys("A@x.test", "192.0.2.1")).toEqual(loginKeys("a@X.test", "192.0.2.1"))
  })
})
