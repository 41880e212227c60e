/** Derives tokens from a master key, in the same way on every runtime. */
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { prefixes, type TokenKey } from "@startlist/core/Secrets"

/** The hash functions of a runtime. */
export interface Hashing {
  /** An HMAC-SHA-256 in base64url, under a key of 32 bytes that HKDF (RFC 5869, no salt) derives for this information. */
  readonly hmacFor: (info: string) => (text: string) => string
  /** Whether two texts of the same length are equal, in a time that does not depend on where they differ. */
  readonly isSame: (one: string, other: string) => boolean
}

/** Length in base64url: 16 bytes, because a forged tag can only end a grant. */
const tagLength = 22

/** One HKDF of the master key for each purpose. */
export const makeTokenKey = ({ hmacFor, isSame }: Hashing): TokenKey => {
  const deriveAccess = hmacFor("startlist access token")
  const deriveRefresh = hmacFor("startlist refresh token")
  const authenticate = hmacFor("startlist refresh token tag")
  const mac = hmacFor("startlist authentication code")
  const deriveClient = hmacFor("startlist client secret")
  const tagOf = (text: string): string => authenticate(text).slice(0, tagLength)

  return {
    // No part of the origin contains a line break, so no two origins have the same text.
    derive: ({ idempotencyKey, presented, salt }, accessName, refreshName) => {
      const key = Option.isSome(idempotencyKey) ? idempotencyKey.value : ""
      const origin = `${Redacted.value(presented)}\n${salt}\n${key}\n${refreshName}`
      const refresh = prefixes.refresh + refreshName + deriveRefresh(origin)
      return {
        accessToken: Redacted.make(prefixes.access + accessName + deriveAccess(origin)),
        refreshToken: Redacted.make(refresh + tagOf(refresh))
      }
    },
    mac,
    deriveSecret: (origin) => Redacted.make(prefixes.client + deriveClient(origin)),
    isAuthentic: (refreshToken) => {
      const text = Redacted.value(refreshToken)
      return text.length >= tagLength && isSame(tagOf(text.slice(0, -tagLength)), text.slice(-tagLength))
    }
  }
}
