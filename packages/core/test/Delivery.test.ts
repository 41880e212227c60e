import { describe, expect, it } from "@effect/vitest"
import { Callbacks, Delivery, Event, Policy, Registration } from "@startlist/core"
import { Arbitraries } from "@startlist/testing"
import { DateTime, Duration, FastCheck, Option } from "effect"

const { Answer } = Callbacks
const start = DateTime.unsafeMake("2030-01-01T00:00:00.999Z")

const event = Event.Event.make({
  id: Event.EventId.make("evt_1"),
  aspectType: "updated",
  objectType: "registration",
  objectId: 7,
  updates: Registration.emptyUpdates,
  time: start,
  sequence: 1,
  trace: Option.none()
})

const pending = Delivery.Delivery.make({
  id: Delivery.DeliveryId.make(1),
  applicationId: Delivery.Delivery.fields.applicationId.make(2),
  subscriptionId: Delivery.Delivery.fields.subscriptionId.make(3),
  event,
  state: "pending",
  attempts: [],
  dueAt: start,
  endedAt: Option.none()
})

const answered = (status: number, changes: Partial<Extract<Callbacks.Answer, { _tag: "Answered" }>> = {}) =>
  Answer.Answered({ afterMs: 10, status, contentType: "text/plain", body: "", retryAfter: Option.none(), ...changes })

const next = (delivery: Delivery.Delivery, answer: Callbacks.Answer, random = 0.5, policy = Policy.documented) =>
  Delivery.next(delivery, answer, { at: start, ended: start, random }, policy)

/** Seconds until the next attempt. */
const pause = (delivery: Delivery.Delivery, answer: Callbacks.Answer, random?: number) =>
  (next(delivery, answer, random).dueAt.epochMillis - start.epochMillis) / 1000

const failed = answered(500)
const once = next(pending, failed)
const twice = next(once, failed)

describe("an attempt", () => {
  it("delivers with exactly 200, and with no other status", () => {
    expect(next(pending, answered(200)).state).toBe("delivered")
    for (const status of [100, 199, 201, 202, 204, 206, 301, 302, 304, 400, 404, 410, 429, 500, 503]) {
      expect(next(pending, answered(status)), String(status)).toMatchObject({
        state: "pending",
        attempts: [{ outcome: "rejected", status: Option.some(status) }]
      })
    }
  })

  it("delivers within 2 s, and not a millisecond later", () => {
    expect(next(pending, answered(200, { afterMs: 2000 })).state).toBe("delivered")
    expect(next(pending, answered(200, { afterMs: 2001 }))).toMatchObject({
      state: "pending",
      attempts: [{ outcome: "timeout" }]
    })
  })

  it("is recorded with its error", () => {
    const outcome = (answer: Callbacks.Answer) => next(pending, answer).attempts[0]?.outcome
    expect(outcome(Answer.TimedOut({ detail: "" }))).toBe("timeout")
    expect(outcome(Answer.Unreachable({ detail: "" }))).toBe("unreachable")
    expect(outcome(Answer.Forbidden({ detail: "" }))).toBe("forbidden_address")
  })

  it.prop("is recorded with at most 200 characters that every store can save", [
    FastCheck.string16bits({ maxLength: 600 })
  ], ([body]) => {
    const detail = next(pending, answered(200, { body })).attempts[0]?.detail ?? "nothing"
    expect(detail.length).toBeLessThanOrEqual(200)
    expect(detail).not.toMatch(/[\p{Cc}\p{Cs}]/u)
  })
})

describe("after a failed attempt", () => {
  it("the second follows after 5 s, the third after 60 s, each ±20 %", () => {
    expect([pause(pending, failed, 0), pause(pending, failed, 0.5), pause(pending, failed, 1)]).toStrictEqual([4, 5, 6])
    expect([pause(once, failed, 0), pause(once, failed, 0.5), pause(once, failed, 1)]).toStrictEqual([48, 60, 72])
  })

  it("Retry-After counts between once and twice the pause, whatever the status", () => {
    const asked = (seconds: number, status = 503) =>
      pause(pending, answered(status, { retryAfter: Option.some(Duration.seconds(seconds)) }), 0)
    expect([0, 1, 5, 7, 10, 11, 1e9].map((seconds) => asked(seconds))).toStrictEqual([5, 5, 5, 7, 10, 10, 10])
    expect(asked(7, 429)).toBe(7)
    expect(pause(once, answered(503, { retryAfter: Option.some(Duration.hours(1)) }), 0)).toBe(120)
  })

  it("the third failure exhausts the delivery", () => {
    const thrice = next(twice, failed)
    expect(twice.state).toBe("pending")
    expect(thrice).toMatchObject({ state: "exhausted", endedAt: Option.some(start) })
    expect(thrice.attempts).toHaveLength(3)
  })

  it("a success at the third attempt still delivers", () => {
    expect(next(twice, answered(200))).toMatchObject({ state: "delivered", endedAt: Option.some(start) })
  })

  it.prop("the list of pauses sets the number of attempts, and a pause is never shorter than its share", {
    pauses: FastCheck.array(FastCheck.integer({ min: 1, max: 1000 }), { maxLength: 5 }),
    random: FastCheck.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
  }, ({ pauses, random }) => {
    const policy = { ...Policy.documented, deliveryDelays: pauses.map((seconds) => Duration.seconds(seconds)) }
    let delivery = pending
    for (const base of pauses) {
      delivery = next(delivery, failed, random, policy)
      const seconds = (delivery.dueAt.epochMillis - start.epochMillis) / 1000
      expect(delivery.state).toBe("pending")
      expect(seconds).toBeGreaterThanOrEqual(base * 0.8 - 0.001)
      expect(seconds).toBeLessThanOrEqual(base * 1.2 + 0.001)
    }
    delivery = next(delivery, failed, random, policy)
    expect(delivery.state).toBe("exhausted")
    expect(delivery.attempts).toHaveLength(pauses.length + 1)
  })
})

describe("the body of an event", () => {
  it("of a registration has the keys of the documented interface, and all six of updates", () => {
    expect(JSON.parse(Event.body(event, 3))).toStrictEqual({
      aspect_type: "updated",
      object_type: "registration",
      object_id: 7,
      updates: {
        platform_id: "",
        registration_status: "",
        document_type: "",
        document_status: "",
        reasons: [],
        comment: ""
      },
      subscription_id: 3,
      event_time: 1893456000
    })
  })

  it("of a user has empty updates", () => {
    const deleted = Event.Event.make({ ...event, aspectType: "deleted", objectType: "athlete", updates: {} })
    expect(JSON.parse(Event.body(deleted, 3))).toMatchObject({ aspect_type: "deleted", updates: {} })
  })

  it("has event_time in whole seconds, rounded down", () => {
    expect(Event.toSeconds(start)).toBe(1893456000)
  })

  it.prop("has the same bytes whatever the order in which a store gives the keys back", [Arbitraries.updates], ([
    updates
  ]) => {
    const { comment, document_status, document_type, platform_id, reasons, registration_status } = updates
    const shuffled = { comment, reasons, document_status, platform_id, registration_status, document_type }
    const body = Event.body(Event.Event.make({ ...event, updates }), 3)
    expect(Event.body(Event.Event.make({ ...event, updates: shuffled }, true), 3)).toBe(body)
    expect(JSON.parse(body).updates).toStrictEqual(updates)
  })
})
