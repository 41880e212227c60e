/** Values that are signed instead of stored: device cookies, and the tokens of password reset links. */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Redacted from "effect/Redacted"
import type { NonEmptyReadonlyArray } from "effect/Array"
import { deviceLifetime } from "@startlist/pages/Sessions"
import { UserId } from "@startlist/core/User"
import type { MasterKeys } from "../settings/Setting.ts"

/** The first key signs. All of them verify. */
export type Keys = NonEmptyReadonlyArray<Uint8Array>

/** Derives one signing key from each master key (RFC 5869), for one purpose. */
export const keysFrom = ([first, ...others]: MasterKeys, purpose: string): Keys => {
  const derive = (master: Redacted.Redacted<string>) =>
    new Uint8Array(hkdfSync("sha256", Buffer.from(Redacted.value(master), "base64"), "", `startlist ${purpose}`, 32))
  return [derive(first), ...others.map(derive)]
}

/** One proof: random identifier, seconds since 1970 in base 36, signature. A cookie holds several, joined by `~`. */
const proofPattern = /^([\w-]{22})\.([0-9a-z]{1,9})\.([\w-]{43})$/

/** Maximum number of accounts in a cookie. */
const maxAccounts = 4

/** Signs the account without containing it: the cookie must not reveal the account. */
const signProof = (key: Uint8Array, id: string, issued: string, email: string): Buffer =>
  createHmac("sha256", key).update(`${id}.${issued}.${email.toLowerCase()}`).digest()

/** The identifier in a proof, if it is genuine, for this account, and has not expired. */
const identify = (keys: Keys, proof: string, email: string, now: number): string | undefined => {
  const [, id = "", issued = "", signature = ""] = proofPattern.exec(proof) ?? []
  if (id === "" || parseInt(issued, 36) * 1000 + Duration.toMillis(deviceLifetime) <= now) return undefined
  const given = Buffer.from(signature, "base64url")
  return keys.some((key) => timingSafeEqual(signProof(key, id, issued, email), given)) ? id : undefined
}

const proofsIn = (cookie: string): ReadonlyArray<string> => cookie.split("~", maxAccounts)

/**
 * Identifier of the browser, if its device cookie (OWASP) proves that it has signed in to this account. It only gives the
 * browser its own failure counter, so that guesses from elsewhere cannot lock its user out. `now` in milliseconds.
 */
export const browserOf = (keys: Keys, cookie: string, email: string, now: number): Option.Option<string> =>
  Option.fromNullable(proofsIn(cookie).map((proof) => identify(keys, proof, email, now)).find((id) => id !== undefined))

/** A device cookie with a new proof for this account, and the previous cookie's proofs for other accounts. */
export const extendCookie = (keys: Keys, former: string, email: string, now: number): string => {
  const id = randomBytes(16).toString("base64url")
  const issued = Math.floor(now / 1000).toString(36)
  const proof = `${id}.${issued}.${signProof(keys[0], id, issued, email).toString("base64url")}`
  const others = proofsIn(former).filter((other) =>
    proofPattern.test(other) && identify(keys, other, email, now) === undefined
  )
  return [proof, ...others].slice(0, maxAccounts).join("~")
}

/** Lifetime of a password reset link. */
export const resetLifetime = Duration.hours(24)

/** Prefix, user, seconds since 1970 in base 36, signature. */
const resetPattern = /^sl_pr_([1-9]\d{0,15})_([0-9a-z]{1,9})_([\w-]{43})$/

/** Covers the present password hash, so that a link stops working when the password changes. */
const signReset = (key: Uint8Array, id: UserId, expires: string, passwordHash: string): Buffer =>
  createHmac("sha256", key).update(`${id} ${expires} ${passwordHash}`).digest()

/** A reset token for this user with this present password hash, valid until `expiresAt` (milliseconds). */
export const makeReset = ([key]: Keys, id: UserId, passwordHash: string, expiresAt: number): string => {
  const expires = Math.floor(expiresAt / 1000).toString(36)
  return `sl_pr_${id}_${expires}_${signReset(key, id, expires, passwordHash).toString("base64url")}`
}

/** The user that a reset token names, if it has not expired. The signature is not verified yet. */
export const claimedUser = (token: string, now: number): Option.Option<UserId> => {
  const [, id = "", expires = ""] = resetPattern.exec(token) ?? []
  return id !== "" && parseInt(expires, 36) * 1000 > now
    ? Schema.decodeOption(UserId)(Number(id))
    : Option.none()
}

/** Whether the signature of a reset token is valid for this user and password hash. */
export const isGenuineReset = (keys: Keys, token: string, id: UserId, passwordHash: string): boolean => {
  const [, , expires = "", signature = ""] = resetPattern.exec(token) ?? []
  const given = Buffer.from(signature, "base64url")
  return keys.some((key) => {
    const expected = signReset(key, id, expires, passwordHash)
    return given.length === expected.length && timingSafeEqual(expected, given)
  })
}
