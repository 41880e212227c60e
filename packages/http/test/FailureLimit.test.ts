import { describe, expect, it } from "@effect/vitest"
import { FailureLimit } from "@startlist/http"
import { Duration, Effect, Option, Schema, TestClock } from "effect"

const limit: FailureLimit.Limit = { name: "test", count: 3, window: Duration.minutes(1) }
const key = { limit, value: "key" }
const other = { limit, value: "other" }

describe("the limit on failures", () => {
  it.effect("a key has no attempts left after its last one, and only that key, until the window is over", () =>
    Effect.gen(function*() {
      const failures = yield* FailureLimit.FailureLimit
      for (let i = 0; i < 3; i++) expect(yield* failures.take([key])).toEqual(Option.none())
      const wait = yield* failures.take([other, key])
      expect(Option.map(wait, Duration.lessThanOrEqualTo(limit.window))).toEqual(Option.some(true))
      for (let i = 0; i < 3; i++) {
        expect(yield* failures.take([other]), "a refusal takes nothing").toEqual(Option.none())
      }
      yield* TestClock.adjust(limit.window)
      expect(yield* failures.take([key])).toEqual(Option.none())
    }).pipe(Effect.provide(FailureLimit.layerMemory)))

  it.effect.prop(
    "for any order of failed and returned attempts, the limit is never exceeded",
    { succeeds: Schema.Array(Schema.Boolean) },
    ({ succeeds }) =>
      Effect.gen(function*() {
        const failures = yield* FailureLimit.FailureLimit
        let open = 0
        for (const success of succeeds) {
          const taken = Option.isNone(yield* failures.take([key]))
          expect(taken).toBe(open < limit.count)
          if (taken && success) yield* failures.giveBack([key])
          else if (taken) open++
        }
      }).pipe(Effect.provide(FailureLimit.layerMemory)),
    { fastCheck: { numRuns: 30 } }
  )

  it.effect("a clock that is set back does not lengthen the wait", () =>
    Effect.gen(function*() {
      const { take } = yield* FailureLimit.FailureLimit
      yield* TestClock.adjust("1 hour")
      for (let i = 0; i < 3; i++) yield* take([key])
      expect(Option.isSome(yield* take([key]))).toBe(true)
      yield* TestClock.setTime(0)
      expect(yield* take([key])).toEqual(Option.none())
    }).pipe(Effect.provide(FailureLimit.layerMemory)))

  it.effect("a key that was given back completely begins a new window", () =>
    Effect.gen(function*() {
      const { giveBack, take } = yield* FailureLimit.FailureLimit
      const running: FailureLimit.Key = { limit: { ...limit, count: 1 }, value: "running" }
      expect(yield* take([running])).toEqual(Option.none())
      yield* TestClock.adjust("50 seconds")
      yield* giveBack([running])
      expect(yield* take([running])).toEqual(Option.none())
      yield* TestClock.adjust("20 seconds")
      expect(yield* take([running])).toEqual(Option.some(Duration.seconds(40)))
    }).pipe(Effect.provide(FailureLimit.layerMemory)))

  it.effect("strangers with many networks do not make the service forget the failures of an account", () =>
    Effect.gen(function*() {
      const failures = yield* FailureLimit.FailureLimit
      const account = { limit: { ...limit, name: "account" }, value: "athlete" }
      for (let i = 0; i < limit.count; i++) yield* failures.take([account])
      for (let n = 0; n < 110_000; n++) {
        const address = `2001:db8:${(n >> 8).toString(16)}:${((n & 0xff) << 8).toString(16)}::1`
        yield* failures.take(FailureLimit.clientKeys(1, address))
      }
      expect(Option.isSome(yield* failures.take([account]))).toBe(true)
    }).pipe(Effect.provide(FailureLimit.layerMemory)))

  it.effect("a limit stores a bounded number of keys: those close to the limit stay", () =>
    Effect.gen(function*() {
      const failures = yield* FailureLimit.FailureLimit
      const keyOf = (n: number): FailureLimit.Key => ({ limit: { ...limit, count: 1 }, value: `key ${n}` })
      const isBlocked = (n: number) => Effect.map(failures.take([keyOf(n)]), Option.isSome)
      yield* failures.take([key])
      yield* failures.take([key])
      for (let n = 0; n < 30_000; n++) yield* failures.take([keyOf(n)])
      expect(yield* isBlocked(29_999)).toBe(true)
      expect(yield* isBlocked(0), "the oldest of those with one failure").toBe(false)
      yield* failures.take([key])
      expect(Option.isSome(yield* failures.take([key]))).toBe(true)
    }).pipe(Effect.provide(FailureLimit.layerMemory)))

  it.effect("the networks of one /56 and of one /48 share limits, four and sixteen times as high", () =>
    Effect.gen(function*() {
      for (const [bits, step, share] of [[56, 1, 4], [48, 256, 16]] as const) {
        const failures = yield* FailureLimit.FailureLimit
        let taken = 0
        for (let n = 0; n < 200; n++) {
          const address = `2001:db8:${bits}:${(n * step).toString(16)}::1`
          if (Option.isNone(yield* failures.take(FailureLimit.networkKeys(limit, address)))) taken++
        }
        expect([bits, taken]).toEqual([bits, share * limit.count])
      }
    }).pipe(Effect.provide(FailureLimit.layerMemory)))

  it("counts an IPv6 network as one address, and a mapped IPv4 address as itself", () => {
    const valuesOf = (address: string) => FailureLimit.clientKeys(1, address).map(({ value }) => value).slice(0, 2)
    expect(valuesOf("2001:db8:1:2::1")).toEqual(valuesOf("2001:db8:1:2:ffff::9"))
    expect(valuesOf("2001:db8:1:2::1")).not.toEqual(valuesOf("2001:db8:1:3::1"))
    expect(valuesOf("::ffff:192.0.2.1")).toEqual(valuesOf("192.0.2.1"))
    expect(valuesOf("192.0.2.1")).not.toEqual(valuesOf("192.0.2.2"))
  })
})
