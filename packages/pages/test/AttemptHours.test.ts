import { describe, expect, it } from "@effect/vitest"
import type { Attempt } from "@startlist/core/Delivery"
import { DateTime, Option } from "effect"
import { dayOf } from "../src/internal/developer/SentDeliveries.ts"

const since = DateTime.unsafeMake("2026-05-01T11:00:00Z")

const attempt = (at: string, outcome: Attempt["outcome"], durationMs: number): Attempt => ({
  at: DateTime.unsafeMake(at),
  durationMs,
  outcome,
  status: Option.none(),
  detail: ""
})

describe("attempts of a day", () => {
  it("are counted by the hours of the clock, delivered and failed apart", () => {
    const hours = dayOf(since, [
      attempt("2026-05-01T10:59:59.999Z", "delivered", 9),
      attempt("2026-05-01T11:00:00Z", "timeout", 2000),
      attempt("2026-05-01T11:00:05Z", "rejected", 3),
      attempt("2026-05-01T11:59:59.999Z", "delivered", 40),
      attempt("2026-05-01T11:01:00Z", "delivered", 10),
      attempt("2026-05-01T11:01:01Z", "delivered", 20),
      attempt("2026-05-01T11:01:02Z", "delivered", 30),
      attempt("2026-05-02T10:24:59Z", "unreachable", 1)
    ])
    const empty = { delivered: 0, failed: 0, latency: Option.none() }
    const expected = Array.from({ length: 24 }, (_, hours) => ({ startsAt: DateTime.add(since, { hours }), ...empty }))
    const latency = Option.some({ medianMs: 20, slowestMs: 40 })
    expect(hours[0]).toEqual({ startsAt: since, delivered: 4, failed: 2, latency })
    expect(hours.slice(1, -1)).toEqual(expected.slice(1, -1))
    expect(hours.at(-1)).toEqual({ ...expected.at(-1), failed: 1 })
  })
})
