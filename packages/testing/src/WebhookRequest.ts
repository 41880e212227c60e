/**
 * The requests that Startlist sends to a callback, as `Request`s of the Web: for tests of a handler without a service.
 *
 * ```ts
 * const request = await WebhookRequest.event({ callbackUrl, id: "evt_1", timestamp, body, sequence: 7, secrets: ["whsec_…"] })
 * const response = await handler(request)
 * ```
 */

/** One attempt to deliver an event. */
export interface EventMessage {
  readonly callbackUrl: string
  /** The `webhook-id`, for example `evt_1`. */
  readonly id: string
  /** The `webhook-timestamp`: whole seconds since 1970. Receivers refuse old ones. */
  readonly timestamp: number
  /** JSON text, for example of `Event.body`. */
  readonly body: string
  /** The `startlist-sequence`: grows with each event about one object. */
  readonly sequence: number
  /** `whsec_…`, newest first. There are two while a secret is rotated. */
  readonly secrets: ReadonlyArray<string>
}

/** A request that validates a callback. */
export interface ValidationMessage {
  readonly callbackUrl: string
  readonly challenge: string
  readonly verifyToken: string
}

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

/** As lenient as the dispatcher: a secret of another server may not be BASE64. */
const fromBase64 = (text: string): Uint8Array<ArrayBuffer> => {
  const letters = text.replaceAll("-", "+").replaceAll("_", "/").replace(/[^A-Za-z0-9+/]/g, "")
  const whole = letters.length % 4 === 1 ? letters.slice(0, -1) : letters
  return Uint8Array.from(atob(whole), (character) => character.charCodeAt(0))
}

const toBase64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)))

const hmac = { name: "HMAC", hash: "SHA-256" }

/** The `webhook-signature` by Standard Webhooks: one signature for each secret, separated by spaces. */
export const signature = async (
  { body, id, secrets, timestamp }: Omit<EventMessage, "callbackUrl" | "sequence">
): Promise<string> => {
  const content = encode(`${id}.${timestamp}.${body}`)
  const signatures = secrets.map(async (secret) => {
    const bytes = fromBase64(secret.replace(/^whsec_/, ""))
    const key = await crypto.subtle.importKey("raw", bytes, hmac, false, ["sign"])
    return `v1,${toBase64(await crypto.subtle.sign("HMAC", key, content))}`
  })
  return (await Promise.all(signatures)).join(" ")
}

/** The POST that delivers an event. */
export const event = async (message: EventMessage): Promise<Request> =>
  new Request(message.callbackUrl, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "Startlist",
      "webhook-id": message.id,
      "webhook-timestamp": String(message.timestamp),
      "webhook-signature": await signature(message),
      "startlist-sequence": String(message.sequence)
    },
    body: message.body
  })

/** The GET that validates a callback before it is subscribed. */
export const validation = ({ callbackUrl, challenge, verifyToken }: ValidationMessage): Request => {
  const parameters = { "hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": verifyToken }
  const query = new URLSearchParams(parameters).toString().replaceAll("+", "%20")
  return new Request(`${callbackUrl}${callbackUrl.includes("?") ? "&" : "?"}${query}`, {
    headers: { "accept": "application/json", "accept-encoding": "identity", "user-agent": "Startlist" }
  })
}
