import { describe, expect, it } from "@effect/vitest"
import { Application, Delivery, Event, Grant, Registration, Store, Subscription, Token, User } from "@startlist/core"
import { Arbitraries, Command } from "@startlist/testing"
import { Arbitrary, FastCheck, Schema } from "effect"

const schemas = {
  "Application.Application": Application.Application,
  "Application.NewApplication": Application.NewApplication,
  "Delivery.Attempt": Delivery.Attempt,
  "Delivery.Delivery": Delivery.Delivery,
  "Event.Event": Event.Event,
  "Grant.Grant": Grant.Grant,
  "Registration.Registration": Registration.Registration,
  "Registration.NewRegistration": Registration.NewRegistration,
  "Subscription.Subscription": Subscription.Subscription,
  "Subscription.NewSubscription": Subscription.NewSubscription,
  "Token.AccessToken": Token.AccessToken,
  "Token.Code": Token.Code,
  "Token.RefreshToken": Token.RefreshToken,
  "User.NewUser": User.NewUser,
  "User.User": User.User
}

describe("Arbitrary.make gives values of the schema", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    it(name, () => {
      const values = FastCheck.sample(Arbitrary.make<unknown, unknown, never>(schema), 20)
      expect(values.every(Schema.is<unknown, unknown, never>(schema))).toBe(true)
    })
  }
})

describe("an arbitrary gives what the schema allows", () => {
  it.prop("text", [Arbitraries.text()], ([text]) => {
    expect(Schema.is(Store.Text)(text)).toBe(true)
    expect(text.length).toBeLessThanOrEqual(200)
  })

  it.prop("newUser", [Arbitraries.newUser("label")], ([user]) => {
    expect(Schema.is(User.NewUser)(user)).toBe(true)
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

  it.prop("program, and it survives being written down and read", [Command.program()], ([program]) => {
    const json = JSON.stringify(Schema.encodeSync(Command.Program)(program))
    expect(Schema.decodeUnknownSync(Command.Program)(JSON.parse(json))).toStrictEqual(program)
  })
})
