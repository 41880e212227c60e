import { describe, expect, it } from "@effect/vitest"
import { Signature } from "@startlist/dispatcher"
import { Redacted } from "effect"
import { Webhook, WebhookVerificationError } from "standardwebhooks"

const secret = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`
const current = secret(1)
const previous = secret(2)
const message = {
  id: "evt_1",
  timestamp: Math.floor(Date.now() / 1000),
  body: JSON.stringify({ object_id: 7, comment: "é ✓" })
}
const headers = (signature: string, changed: Partial<typeof message> = {}) => ({
  "webhook-id": changed.id ?? message.id,
  "webhook-timestamp": String(changed.timestamp ?? message.timestamp),
  "webhook-signature": signature
})
const sign = (...secrets: ReadonlyArray<string>) => Signature.sign(message, secrets.map((one) => Redacted.make(one)))

describe("the signature, checked by the npm package standardwebhooks", () => {
  it("verifies with the secret of the subscription", () => {
    expect(new Webhook(current).verify(message.body, headers(sign(current)))).toEqual(JSON.parse(message.body))
  })

  it("verifies with both secrets during a rotation, and with no third one", () => {
    const signature = sign(current, previous)
    expect(signature).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/)
    for (const known of [current, previous]) {
      expect(new Webhook(known).verify(message.body, headers(signature))).toEqual(JSON.parse(message.body))
    }
    expect(() => new Webhook(secret(3)).verify(message.body, headers(signature))).toThrow(WebhookVerificationError)
  })

  it("fails if any byte of the body, the identifier or the timestamp is changed", () => {
    const webhook = new Webhook(current)
    const bytes = Buffer.from(message.body)
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(() => webhook.verify(changed, headers(sign(current)))).toThrow(WebhookVerificationError)
    }
    for (const changed of [{ id: "evt_2" }, { timestamp: message.timestamp + 1 }]) {
      expect(() => webhook.verify(message.body, headers(sign(current), changed))).toThrow(WebhookVerificationError)
    }
  })
})
