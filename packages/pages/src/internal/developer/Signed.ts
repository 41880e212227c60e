/** The request of a delivery as it would be sent now, signed with the present secrets. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { SigningSecrets } from "@startlist/core/Application"
import { live } from "@startlist/core/ApplicationSecret"
import type { Delivery } from "@startlist/core/Delivery"
import { body, toSeconds } from "@startlist/core/Event"
import type { Subscription } from "@startlist/core/Subscription"
import type { Sent } from "./DeliveryView.tsx"

const utf8 = new TextEncoder()

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

/** `v1,` and the base64 of the HMAC-SHA-256 (Standard Webhooks). */
const sign = async (content: string, secret: Redacted.Redacted<string>): Promise<string> => {
  const bytes = fromBase64(Redacted.value(secret).replace(/^whsec_/, ""))
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  const signature = await crypto.subtle.sign("HMAC", key, utf8.encode(content))
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`
}

/** The request with a fresh timestamp and the signatures of all live secrets. */
export const sentNow = (
  { event }: Delivery,
  { callbackUrl, id }: Subscription,
  { secrets }: SigningSecrets
): Effect.Effect<Sent> =>
  Effect.gen(function*() {
    const now = yield* DateTime.now
    const text = body(event, id)
    const timestamp = String(toSeconds(now))
    const signatures = yield* Effect.promise(() =>
      Promise.all(
        live(secrets, now).map(({ value }) => sign(`${event.id}.${timestamp}.${text}`, value))
      )
    )
    return {
      callbackUrl,
      body: text,
      headers: [
        ["content-type", "application/json"],
        ["webhook-id", event.id],
        ["webhook-timestamp", timestamp],
        ["webhook-signature", signatures.join(" ")],
        ["startlist-sequence", String(event.sequence)]
      ]
    }
  })
