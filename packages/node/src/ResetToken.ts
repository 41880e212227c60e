/**
 * Tokens of links that lead to a new password. Nothing is stored: the signature covers the present password's hash, so a
 * link is worth nothing after it was used, or after any other change of the password.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { UserId } from "@startlist/core/User"
import type { Keys } from "./SigningKeys.ts"

/** How long a link works. */
export const lifetime = Duration.hours(24)

/** Prefix, user, seconds since 1970 in base 36, signature. */
const pattern = /^sl_pr_([1-9]\d{0,15})_([0-9a-z]{1,9})_([\w-]{43})$/

const signatureOf = (key: Uint8Array, id: UserId, expires: string, passwordHash: string): Buffer =>
  createHmac("sha256", key).update(`${id} ${expires} ${passwordHash}`).digest()

/** A token for this user, who has this password now, until `expiresAt` (milliseconds). */
export const make = ([key]: Keys, id: UserId, passwordHash: string, expiresAt: number): string => {
  const expires = Math.floor(expiresAt / 1000).toString(36)
  return `sl_pr_${id}_${expires}_${signatureOf(key, id, expires, passwordHash).toString("base64url")}`
}

/** The user that a token says it is for, if it has not expired. Nothing is proved yet. */
export const claimed = (token: string, now: number): Option.Option<UserId> => {
  const [, id = "", expires = ""] = pattern.exec(token) ?? []
  return id !== "" && parseInt(expires, 36) * 1000 > now
    ? Schema.decodeOption(UserId)(Number(id))
    : Option.none()
}

/** Whether a token was made for this user with this password. */
export const isGenuine = (keys: Keys, token: string, id: UserId, passwordHash: string): boolean => {
  const [, , expires = "", signature = ""] = pattern.exec(token) ?? []
  const given = Buffer.from(signature, "base64url")
  return keys.some((key) => {
    const expected = signatureOf(key, id, expires, passwordHash)
    return given.length === expected.length && timingSafeEqual(expected, given)
  })
}
