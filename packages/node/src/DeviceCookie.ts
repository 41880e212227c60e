/**
 * Device cookies (OWASP): proof that a browser has signed in to an account before. They only give the browser its own
 * failure counter, so that guesses from elsewhere cannot lock its user out.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import { deviceLifetime } from "@startlist/pages/Sessions"
import type { Keys } from "./SigningKeys.ts"

/** One proof: random identifier, seconds since 1970 in base 36, signature. A cookie holds several, joined by `~`. */
const pattern = /^([\w-]{22})\.([0-9a-z]{1,9})\.([\w-]{43})$/

/** Maximum number of accounts in a cookie. */
const maxAccounts = 4

/** Signs the account without containing it: the cookie must not reveal the account. */
const signatureOf = (key: Uint8Array, id: string, issued: string, email: string): Buffer =>
  createHmac("sha256", key).update(`${id}.${issued}.${email.toLowerCase()}`).digest()

/** The identifier in a proof, if it is genuine, for this account, and has not expired. */
const identify = (keys: Keys, proof: string, email: string, now: number): string | undefined => {
  const [, id = "", issued = "", signature = ""] = pattern.exec(proof) ?? []
  if (id === "" || parseInt(issued, 36) * 1000 + Duration.toMillis(deviceLifetime) <= now) return undefined
  const given = Buffer.from(signature, "base64url")
  return keys.some((key) => timingSafeEqual(signatureOf(key, id, issued, email), given)) ? id : undefined
}

const proofsIn = (cookie: string): ReadonlyArray<string> => cookie.split("~", maxAccounts)

/** Identifier of the browser, if it has signed in to this account. `now` in milliseconds. */
export const browserOf = (keys: Keys, cookie: string, email: string, now: number): Option.Option<string> =>
  Option.fromNullable(proofsIn(cookie).map((proof) => identify(keys, proof, email, now)).find((id) => id !== undefined))

/** A cookie with a new proof for this account, and the previous cookie's proofs for other accounts. */
export const extend = (keys: Keys, former: string, email: string, now: number): string => {
  const id = randomBytes(16).toString("base64url")
  const issued = Math.floor(now / 1000).toString(36)
  const proof = `${id}.${issued}.${signatureOf(keys[0], id, issued, email).toString("base64url")}`
  const others = proofsIn(former).filter((other) =>
    pattern.test(other) && identify(keys, other, email, now) === undefined
  )
  return [proof, ...others].slice(0, maxAccounts).join("~")
}
