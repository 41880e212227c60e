import { describe, expect, it } from "@effect/vitest"
import { Delivery } from "@startlist/core"
import type { Attempt } from "@startlist/core/Delivery"
import { DateTime, Option } from "effect"

const since = DateTime.unsafeMake("2026-05-01T11:00:00Z")

const attempt = (at: string, outcome: Attempt["outcome"], durationMs: number): Attempt => ({
  at: DateTime.unsafeMake(at),
  durationMs,
  outcome,
  status: Option.none(),
  detail: ""
})

describe("attempts since an instant", () => {
  it("are counted by the hours of the clock, delivered and failed apart", () => {
    const hours = Delivery.hoursOf([
      attempt("2026-05-01T10:59:59.999Z", "delivered", 9),
      attempt("2026-05-01T11:00:00Z", "timeout", 2000),
      attempt("2026-05-01T11:00:05Z", "rejected", 3),
      attempt("2026-05-01T11:59:59.999Z", "delivered", 40),
      attempt("2026-05-01T11:01:00Z", "delivered", 10),
      attempt("2026-05-01T11:01:01Z", "delivered", 20),
      attempt("2026-05-01T11:01:02Z", "delivered", 30),
      attempt("2026-05-02T10:24:59Z", "unreachable", 1)
    ], since)
    expect(hours).toEqual([{
      startsAt: DateTime.unsafeMake("2026-05-01T11:00:00Z"),
      delivered: 4,
      failed: 2,
      latency: Option.some({ medianMs: 20, slowestMs: 40 })
    }, { startsAt: DateTime.unsafeMake("2026-05-02T10:00:00Z"), delivered: 0, failed: 1, latency: Option.none() }])
  })
})
