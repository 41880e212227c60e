import { describe, expect, it } from "@effect/vitest"
import { Application, Delivery, Event, Grant, Registration, Store, Subscription, Token, User } from "@startlist/core"
import { Arbitraries } from "@startlist/testing"
import { Arbitrary, FastCheck, Schema } from "effect"

/** Whether a schema's own arbitrary keeps to it. */
const keeps = <A, I>(schema: Schema.Schema<A, I>): boolean =>
  FastCheck.sample(Arbitrary.make(schema), 20).every(Schema.is(schema))

it("Arbitrary.make gives values of every schema of the core", () => {
  expect({
    Application: keeps(Application.Application),
    NewApplication: keeps(Application.NewApplication),
    Attempt: keeps(Delivery.Attempt),
    Delivery: keeps(Delivery.Delivery),
    Event: keeps(Event.Event),
    Grant: keeps(Grant.Grant),
    Registration: keeps(Registration.Registration),
    NewRegistration: keeps(Registration.NewRegistration),
    Subscription: keeps(Subscription.Subscription),
    NewSubscription: keeps(Subscription.NewSubscription),
    AccessToken: keeps(Token.AccessToken),
    Code: keeps(Token.Code),
    RefreshToken: keeps(Token.RefreshToken),
    User: keeps(User.User)
  }).toStrictEqual({
    Application: true,
    NewApplication: true,
    Attempt: true,
    Delivery: true,
    Event: true,
    Grant: true,
    Registration: true,
    NewRegistration: true,
    Subscription: true,
    NewSubscription: true,
    AccessToken: true,
    Code: true,
    RefreshToken: true,
    User: true
  })
})

describe("an arbitrary gives what the schema allows", () => {
  it.prop("text", [Arbitraries.text()], ([text]) => {
    expect(Schema.is(Store.Text)(text)).toBe(true)
    expect(text.length).toBeLessThanOrEqual(200)
  })

  it.prop("newUser", [Arbitraries.newUser("label")], ([user]) => {
    expect(Schema.is(Schema.Struct(User.User.fields).omit("id"))(user)).toBe(true)
  })

  it.prop("settings", [Arbitraries.settings], ([settings]) => {
    expect(Schema.is(Application.Settings)(settings)).toBe(true)
  })

  it.prop("updates", [Arbitraries.updates], ([updates]) => {
    expect(Schema.is(Event.Updates)(updates)).toBe(true)
  })

  it.prop("attempt", [Arbitraries.attempt], ([attempt]) => {
    expect(Schema.is(Delivery.Attempt)(attempt)).toBe(true)
  })
})
