/** Encodings, random bytes and signatures, with APIs that Node and browsers share. */

/** RFC 4648 §5, without padding. */
export const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

/** Decodes RFC 4648 §4. Throws for any other text. */
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

/** 256 random bits. */
export const unguessable = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)))

/** The digest of a text in UTF-8. */
export const sha256 = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))

/** Compares in constant time. */
export const isEqual = async (a: string, b: string): Promise<boolean> => {
  const [one, two] = await Promise.all([sha256(a), sha256(b)])
  return one.reduce((difference, byte, place) => difference | (byte ^ (two[place] ?? 0)), 0) === 0
}

/** Maximum difference of an event's timestamp from the clock, in seconds. */
const tolerance = 300

/** The signed parts of an event. */
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

/** Verifies that an event comes from the service and is recent (Standard Webhooks). Compares in constant time. */
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
