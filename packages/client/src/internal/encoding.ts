/** Encodings and random bytes, with APIs that Node and browsers share. */

export const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0))

/** 256 random bits. */
export const unguessable = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)))

export const sha256 = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))

/** Compares in constant time. */
export const isEqual = async (a: string, b: string): Promise<boolean> => {
  const [one, two] = await Promise.all([sha256(a), sha256(b)])
  return one.reduce((difference, byte, place) => difference | (byte ^ (two[place] ?? 0)), 0) === 0
}
