/** Verifies that an event comes from the service and is recent (Standard Webhooks). */
import { fromBase64 } from "./encoding.ts"

/** Maximum difference of an event's timestamp from the clock, in seconds. */
const tolerance = 300

export interface Signed {
  readonly id: string
  readonly timestamp: string
  readonly signatures: string
  readonly body: Uint8Array<ArrayBuffer>
}

const keyOf = (secret: string) =>
  crypto.subtle.importKey("raw", fromBase64(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, [
    "verify"
  ])

/** Compares with Web Crypto, in constant time. */
export const isAuthentic = async (
  { body, id, signatures, timestamp }: Signed,
  secrets: ReadonlyArray<string>,
  now: number
): Promise<boolean> => {
  if (id === "" || !/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > tolerance) return false
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + body.length)
  signed.set(head)
  signed.set(body, head.length)
  const given = signatures.split(" ").flatMap((one) => /^v1,([A-Za-z0-9+/]{43}=)$/.exec(one)?.[1] ?? []).slice(0, 10)
  for (const secret of secrets) {
    const key = await keyOf(secret)
    for (const one of given) if (await crypto.subtle.verify("HMAC", key, fromBase64(one), signed)) return true
  }
  return false
}
