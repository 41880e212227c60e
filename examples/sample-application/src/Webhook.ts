/** The callback: answers the challenge, checks the signature of every event, and acknowledges it at once. */
import { timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { Webhook } from "standardwebhooks"
import type { Event, Received, State } from "./State.ts"

const isSame = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The body that proves this callback (requirements §4.7); none if the platform was not asked for it by us. */
export const challenge = (query: URLSearchParams, verifyToken: string): string | undefined => {
  const value = query.get("hub.challenge")
  const isMeant = query.get("hub.mode") === "subscribe" && isSame(query.get("hub.verify_token") ?? "", verifyToken)
  return isMeant && value !== null ? JSON.stringify({ "hub.challenge": value }) : undefined
}

const isEvent = (body: unknown): body is Event =>
  typeof body === "object" && body !== null &&
  "aspect_type" in body && typeof body.aspect_type === "string" &&
  "object_type" in body && typeof body.object_type === "string" &&
  "object_id" in body && typeof body.object_id === "number" &&
  "updates" in body && typeof body.updates === "object" && body.updates !== null

/** Throws unless the signature is right and no older than five minutes. */
const verify = (secret: string, body: string, headers: IncomingHttpHeaders): Event => {
  const signed = new Webhook(secret).verify(body, {
    "webhook-id": String(headers["webhook-id"]),
    "webhook-timestamp": String(headers["webhook-timestamp"]),
    "webhook-signature": String(headers["webhook-signature"])
  })
  if (!isEvent(signed)) throw new Error("this is no event")
  return signed
}

/**
 * Decides on one POST. Its status is the answer to the platform: anything but 200 makes it try again, up to three times
 * (requirements §6.3). The same event may come twice; its `webhook-id` tells.
 */
export const receive = (state: State, body: string, headers: IncomingHttpHeaders): Received => {
  const received = { at: new Date(), webhookId: String(headers["webhook-id"] ?? ""), event: undefined }
  const { signingSecret } = state
  if (signingSecret === undefined) {
    return { ...received, status: 503, verdict: "Not taken: without the signing secret it cannot be checked." }
  }
  try {
    const event = verify(signingSecret, body, headers)
    const isRepeated = state.received.some(({ status, webhookId }) =>
      status === 200 && webhookId === received.webhookId
    )
    const verdict = isRepeated ? "Signature verified; known already, so nothing was done." : "Signature verified."
    return { ...received, status: 200, verdict, event: isRepeated ? undefined : event }
  } catch (error) {
    return { ...received, status: 401, verdict: `Refused: ${error instanceof Error ? error.message : String(error)}.` }
  }
}
