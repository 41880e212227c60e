import { Webhook as Signer } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import * as State from "../src/State.ts"
import * as Webhook from "../src/Webhook.ts"

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`

const event = {
  aspect_type: "deleted",
  object_type: "athlete",
  object_id: 1,
  updates: {},
  subscription_id: 1,
  event_time: 1_900_000_000
}

const signed = (body: string, { at = new Date(), by = secret, id = "evt_1" } = {}) => ({
  "webhook-id": id,
  "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  "webhook-signature": new Signer(by).sign(id, at, body)
})

const body = JSON.stringify(event)

const withSecret = () => Object.assign(State.make(), { signingSecret: secret })

describe("the challenge", () => {
  const query = (token: string) =>
    new URLSearchParams({ "hub.mode": "subscribe", "hub.challenge": "c", "hub.verify_token": token })

  it("is given back if the platform repeats the verify token", () => {
    expect(Webhook.challenge(query("token"), "token")).toBe("{\"hub.challenge\":\"c\"}")
  })

  it("is not given back to somebody who does not know the verify token", () => {
    expect(Webhook.challenge(query("guess"), "token")).toBeUndefined()
    expect(Webhook.challenge(new URLSearchParams({ "hub.challenge": "c" }), "token")).toBeUndefined()
  })
})

describe("an event", () => {
  it("is believed if its signature is right", () => {
    expect(Webhook.receive(withSecret(), body, signed(body))).toMatchObject({ status: 200, event })
  })

  it("is believed once, though it comes twice", () => {
    const state = withSecret()
    state.received.push(Webhook.receive(state, body, signed(body)))
    expect(Webhook.receive(state, body, signed(body))).toMatchObject({ status: 200, event: undefined })
  })

  it("is put off while the signing secret is not known", () => {
    expect(Webhook.receive(State.make(), body, signed(body))).toMatchObject({ status: 503, event: undefined })
  })

  const otherSecret = `whsec_${Buffer.alloc(32, 8).toString("base64")}`
  for (
    const [what, text, headers] of [
      ["is not signed", body, {}],
      ["was changed on the way", body.replace("1", "2"), signed(body)],
      ["is signed with another secret", body, signed(body, { by: otherSecret })],
      ["was signed ten minutes ago", body, signed(body, { at: new Date(Date.now() - 600_000) })],
      ["is no event", "[]", signed("[]")],
      ["is no JSON", "{", signed("{")]
    ] as const
  ) {
    it(`is refused if it ${what}`, () => {
      expect(Webhook.receive(withSecret(), text, headers)).toMatchObject({ status: 401, event: undefined })
    })
  }
})
