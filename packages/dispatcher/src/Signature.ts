/** Signatures of events by Standard Webhooks (https://www.standardwebhooks.com). */
import * as Redacted from "effect/Redacted"
import { createHmac, createSecretKey, type KeyObject } from "node:crypto"

/** The signed parts: identifier, timestamp and body, so that none of them can be replaced. */
export interface Signed {
  /** The `webhook-id`. */
  readonly id: string
  /** The `webhook-timestamp`, whole seconds since 1970. */
  readonly timestamp: number
  readonly body: string
}

/**
 * The `webhook-signature`: `v1,` and BASE64(HMAC-SHA-256(key, id.timestamp.body)) for each secret, separated by spaces.
 * A receiver needs only one of the secrets, so they can be rotated.
 */
export const sign: Sign = (message, secrets) => signWith(message, secrets, keyOf)

/** Signs with these secrets (`whsec_…`). */
export type Sign = (message: Signed, secrets: ReadonlyArray<Redacted.Redacted<string>>) => string

/** `sign` with a cache of keys, for a service whose secrets sign many events each. */
export const make = (): Sign => {
  const keys = new WeakMap<Redacted.Redacted<string>, KeyObject>()
  return (message, secrets) =>
    signWith(message, secrets, (secret) => {
      const known = keys.get(secret)
      if (known !== undefined) return known
      const made = keyOf(secret)
      keys.set(secret, made)
      return made
    })
}

const signWith = (
  { body, id, timestamp }: Signed,
  secrets: ReadonlyArray<Redacted.Redacted<string>>,
  key: (secret: Redacted.Redacted<string>) => KeyObject
): string => {
  const content = `${id}.${timestamp}.${body}`
  return secrets.map((secret) => `v1,${createHmac("sha256", key(secret)).update(content).digest("base64")}`).join(" ")
}

/** The bytes of the base64 text after `whsec_`. */
const keyOf = (secret: Redacted.Redacted<string>): KeyObject =>
  createSecretKey(Buffer.from(Redacted.value(secret).replace(/^whsec_/, ""), "base64"))
