/**
 * Predictable secrets for tests, different for each label, so that tests can share a database. Unlike the real ones,
 * they can be told from anything else: a secret in clear has a mark in it, and its fingerprint has not.
 */
import { prefixes, Secrets, TokenHash } from "@startlist/core/Secrets"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

/** Found in whatever contains a secret in clear: every one is made with it. */
export const mark = "Clear"

/** Never the clear text, and of the form of an S256 challenge: the text backwards, filled up to 43 characters. */
const hash = (value: string): TokenHash => TokenHash.make([...value].reverse().join("").padEnd(43, "-"))

/** Numbered secrets: the same program gets the same ones. Never for production. */
export const layer = (label: string): Layer.Layer<Secrets> =>
  Layer.sync(Secrets, () => {
    let made = 0
    return {
      // Event identifiers, claims and challenges are no secrets.
      make: (kind, name = "") =>
        Effect.sync(() => {
          const isPublic = kind === "event" || kind === "claim" || kind === "challenge"
          return Redacted.make(`${prefixes[kind]}${name}${isPublic ? kind : mark}${label}n${++made}`)
        }),
      makeSigning: Effect.sync(() => Redacted.make(`whsec_${label}n${++made}`)),
      hash
    }
  })
