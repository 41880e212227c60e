import { describe, expect, it } from "@effect/vitest"
import { MemoryThrottle, Throttle } from "@startlist/http"
import { Duration, Effect, Option, TestClock } from "effect"

const limit: Throttle.Limit = { failures: 3, window: Duration.minutes(1) }
const key = { limit, value: "key" }

describe("the brake on guessing", () => {
  it.effect("blocks a key after its last failure, and only that key, until the window is over", () =>
    Effect.gen(function*() {
      const throttle = yield* Throttle.Throttle
      for (let i = 0; i < 3; i++) {
        expect(yield* throttle.blocked([key])).toEqual(Option.none())
        yield* throttle.failed([key])
      }
      const wait = yield* throttle.blocked([{ limit, value: "other" }, key])
      expect(Option.map(wait, Duration.lessThanOrEqualTo(limit.window))).toEqual(Option.some(true))
      expect(yield* throttle.blocked([{ limit, value: "other" }])).toEqual(Option.none())
      yield* TestClock.adjust(limit.window)
      expect(yield* throttle.blocked([key])).toEqual(Option.none())
    }).pipe(Effect.provide(MemoryThrottle.layer)))

  it("counts an IPv6 network as one address, and a mapped IPv4 address as itself", () => {
    const valuesOf = (address: string) => Throttle.clientKeys(1, address).map(({ value }) => value)
    expect(valuesOf("2001:db8:1:2::1")).toEqual(valuesOf("2001:db8:1:2:ffff::9"))
    expect(valuesOf("2001:db8:1:2::1")).not.toEqual(valuesOf("2001:db8:1:3::1"))
    expect(valuesOf("::ffff:192.0.2.1")).toEqual(valuesOf("192.0.2.1"))
    expect(valuesOf("192.0.2.1")).not.toEqual(valuesOf("192.0.2.2"))
  })

  it("counts an e-mail address in any case as one account", () => {
    expect(Throttle.loginKeys("A@x.test", "192.0.2.1")).toEqual(Throttle.loginKeys("a@X.test", "192.0.2.1"))
  })
})
