/** Seals the signing secrets, which the worker needs again (AES-256-GCM). */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"

export interface Seal {
  readonly seal: (secret: string) => string
  readonly unseal: (sealed: string) => string
}

const nonceLength = 12
const tagLength = 16

/** `key`: 32 bytes. */
export const make = (key: Uint8Array): Seal => ({
  seal: (secret) => {
    const nonce = randomBytes(nonceLength)
    const cipher = createCipheriv("aes-256-gcm", key, nonce)
    const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64")
  },
  unseal: (text) => {
    const bytes = Buffer.from(text, "base64")
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceLength))
    decipher.setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength))
    const sealed = bytes.subarray(nonceLength + tagLength)
    return decipher.update(sealed, undefined, "utf8") + decipher.final("utf8")
  }
})
