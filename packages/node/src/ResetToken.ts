/**
 * Tokens of password reset links. Nothing is stored: the signature covers the present password hash, so a link stops
 * working when the password changes.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { UserId } from "@startlist/core/User"
import type { Keys } from "./SigningKeys.ts"

/** Lifetime of a link. */
export const lifetime = Duration.hours(24)

/** Prefix, user, seconds since 1970 in base 36, signature. */
const pattern = /^sl_pr_([1-9]\d{0,15})_([0-9a-z]{1,9})_([\w-]{43})$/

const signatureOf = (key: Uint8Array, id: UserId, expires: string, passwordHash: string): Buffer =>
  createHmac("sha256", key).update(`${id} ${expires} ${passwordHash}`).digest()

/** A token for this user with this present password hash, valid until `expiresAt` (milliseconds). */
export const make = ([key]: Keys, id: UserId, passwordHash: string, expiresAt: number): string => {
  const expires = Math.floor(expiresAt / 1000).toString(36)
  return `sl_pr_${id}_${expires}_${signatureOf(key, id, expires, passwordHash).toString("base64url")}`
}

/** The user that a token names, if it has not expired. The signature is not verified yet. */
export const claimed = (token: string, now: number): Option.Option<UserId> => {
  const [, id = "", expires = ""] = pattern.exec(token) ?? []
  return id !== "" && parseInt(expires, 36) * 1000 > now
    ? Schema.decodeOption(UserId)(Number(id))
    : Option.none()
}

/** Whether the signature of a token is valid for this user and password hash. */
export const isGenuine = (keys: Keys, token: string, id: UserId, passwordHash: string): boolean => {
  const [, , expires = "", signature = ""] = pattern.exec(token) ?? []
  const given = Buffer.from(signature, "base64url")
  return keys.some((key) => {
    const expected = signatureOf(key, id, expires, passwordHash)
    return given.length === expected.length && timingSafeEqual(expected, given)
  })
}
