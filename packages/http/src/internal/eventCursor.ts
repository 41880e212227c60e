/**
 * Cursors of event logs. A position counts the events of all applications, so an application gets it encrypted, and can
 * use only its own. The same position always gives the same cursor, by a synthetic initialization vector (RFC 5297 §1).
 */
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import type { ApplicationId } from "@startlist/core/Application"
import type { Secrets, TokenKey } from "@startlist/core/Secrets"

/** 128 bits in base64url, followed by the 64 bits of the encrypted position. */
const tagLength = 22
const pattern = /^[\w-]{33}$/

const tagOf = (key: TokenKey, applicationId: ApplicationId, position: number): string =>
  key.mac(`event cursor\n${applicationId}\n${position}`).slice(0, tagLength)

/** Encrypts or decrypts 64 bits with a pad that depends on the tag. */
const withPad = (key: TokenKey, applicationId: ApplicationId, tag: string, bits: Uint8Array): Uint8Array => {
  const pad = Either.getOrThrow(Encoding.decodeBase64Url(key.mac(`event cursor pad\n${applicationId}\n${tag}`)))
  return bits.map((byte, place) => byte ^ (pad[place] ?? 0))
}

/** The cursor of a position. */
export const seal = (
  { keys: [key] }: Pick<Secrets.Service, "keys">,
  applicationId: ApplicationId,
  position: number
): string => {
  const bits = new Uint8Array(8)
  new DataView(bits.buffer).setBigUint64(0, BigInt(position))
  const tag = tagOf(key, applicationId, position)
  return tag + Encoding.encodeBase64Url(withPad(key, applicationId, tag, bits))
}

/** The position of a cursor that one of the keys has made for this application. */
export const open = (
  { keys }: Pick<Secrets.Service, "keys">,
  applicationId: ApplicationId,
  cursor: string
): number | undefined => {
  if (!pattern.test(cursor)) return undefined
  const tag = cursor.slice(0, tagLength)
  const sealed = Encoding.decodeBase64Url(cursor.slice(tagLength))
  if (Either.isLeft(sealed)) return undefined
  return keys
    .map((key): readonly [TokenKey, number] => {
      const bits = withPad(key, applicationId, tag, sealed.right)
      return [key, Number(new DataView(bits.buffer).getBigUint64(0))]
    })
    .find(([key, position]) => Number.isSafeInteger(position) && tagOf(key, applicationId, position) === tag)?.[1]
}
