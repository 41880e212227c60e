import { Event, Registration, User } from "@startlist/core"
import { DateTime, Option } from "effect"
import { describe, expect, it } from "vitest"

const registration = {
  id: Registration.RegistrationId.make(1),
  version: 1,
  parties: {
    athleteId: User.UserId.make(1),
    organizerId: Option.none(),
    clubId: Option.none(),
    platformUserId: Option.none()
  },
  updates: { ...Registration.emptyUpdates, comment: "before" }
}

const origin: Event.EventOrigin = {
  id: Event.EventId.make("evt_1"),
  time: DateTime.unsafeMake(0),
  trace: Option.none()
}

const change = (patch: Partial<Event.Updates>) => Registration.change(registration, patch, origin)

describe("a change of a registration", () => {
  it("is the next version with the fields of the patch, and one event", () => {
    const { outgoing, registration: next } = Option.getOrThrow(change({ registration_status: "confirmed" }))
    expect(next.version).toBe(2)
    expect(next.updates).toEqual({ ...registration.updates, registration_status: "confirmed" })
    expect(outgoing.map(({ event }) => event.updates)).toEqual([next.updates])
  })

  it("concerns the applications of all its parties", () => {
    const user = (id: number) => User.UserId.make(id)
    const parties = {
      athleteId: user(1),
      organizerId: Option.some(user(2)),
      clubId: Option.some(user(3)),
      platformUserId: Option.some(user(4))
    }
    const told = Registration.changedEvent({ ...registration, parties }, origin)
    expect(told.audience).toEqual(Event.Audience.GrantedBy({ userIds: [1, 2, 3, 4].map(user) }))
  })

  it("does not exist if the patch changes nothing", () => {
    expect(change({ comment: "before" })).toEqual(Option.none())
    expect(change({})).toEqual(Option.none())
  })

  it("refuses values that a store could not save", () => {
    expect(() => change({ comment: "\0" })).toThrow()
    expect(() => change({ reasons: ["\ud800"] })).toThrow()
  })

  it("ignores keys other than the six", () => {
    expect(change(Object.assign({ comment: "before" }, { price: "10" }))).toEqual(Option.none())
  })
})
