/**
 * Predictable secrets for tests, different for each label, so that tests can share a database. A secret in clear contains
 * a mark, unlike a real one, and its fingerprint does not. Fingerprints and S256 challenges are the real ones.
 */
import { Fingerprint, prefixes, Secrets, type TokenKey } from "@startlist/core/Secrets"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { fingerprint, sha256 } from "./internal/hashes.ts"

/** A part of every secret in clear, by which tests find secrets where none may be. */
export const mark = "InClear"

/** A key that derives tokens like a real one, but guessable ones. `secret` names it. */
export const key = (secret: string): TokenKey => {
  const tagOf = (text: string) => fingerprint(`${secret} authenticates ${text}`)
  return {
    derive: ({ idempotencyKey, presented, salt }, accessName, refreshName) => {
      const origin = [secret, Redacted.value(presented), salt, Option.getOrElse(idempotencyKey, () => ""), refreshName]
      const derived = (kind: "access" | "refresh", name: string) =>
        `${prefixes[kind]}${name}${mark}${fingerprint([kind, ...origin].join("\n"))}`
      const refresh = derived("refresh", refreshName)
      return {
        accessToken: Redacted.make(derived("access", accessName)),
        refreshToken: Redacted.make(refresh + tagOf(refresh))
      }
    },
    deriveSecret: (origin) => Redacted.make(`${prefixes.client}${mark}${fingerprint(`${secret} derives\n${origin}`)}`),
    mac: (text) => Encoding.encodeBase64Url(sha256(`${secret} authenticates\n${text}`)),
    isAuthentic: (refreshToken) => {
      const text = Redacted.value(refreshToken)
      const tag = tagOf("")
      return tagOf(text.slice(0, -tag.length)) === text.slice(-tag.length)
    }
  }
}

/** Equal programs get equal secrets. `keys` are the names of the keys that derive tokens. Never for production. */
export const layer = (
  label: string,
  keys: Arr.NonEmptyReadonlyArray<string> = [label]
): Layer.Layer<Secrets> =>
  Layer.sync(Secrets, (): Secrets.Service => {
    let made = 0
    const isPublic: ReadonlySet<string> = new Set(["event", "claim", "challenge"])
    return {
      make: (kind, name = "") =>
        Effect.sync(() =>
          Redacted.make(`${prefixes[kind]}${name}${isPublic.has(kind) ? kind : mark}${label}n${++made}`)
        ),
      makeSalt: Effect.sync(() => `salt${label}n${++made}`),
      makeSigning: Effect.sync(() => Redacted.make(`whsec_${Encoding.encodeBase64(sha256(`${label}n${++made}`))}`)),
      hash: (value) => Fingerprint.make(Encoding.encodeBase64Url(sha256(value))),
      keys: Arr.map(keys, key)
    }
  })
