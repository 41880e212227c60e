/** The signature of `Signature.ts` with Web Crypto. */
import * as Redacted from "effect/Redacted"
import type { Signed } from "../Signature.ts"

const utf8 = new TextEncoder()

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

const toBase64 = (bytes: ArrayBuffer): string => btoa(String.fromCharCode(...new Uint8Array(bytes)))

const signOnce = async (content: string, secret: Redacted.Redacted<string>): Promise<string> => {
  const bytes = fromBase64(Redacted.value(secret).replace(/^whsec_/, ""))
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  return `v1,${toBase64(await crypto.subtle.sign("HMAC", key, utf8.encode(content)))}`
}

/** The same `webhook-signature` as that of `Signature.sign`. */
export const sign = async (message: Signed, secrets: ReadonlyArray<Redacted.Redacted<string>>): Promise<string> => {
  const content = `${message.id}.${message.timestamp}.${message.body}`
  return (await Promise.all(secrets.map((secret) => signOnce(content, secret)))).join(" ")
}
