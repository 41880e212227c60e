/** Unguessable values and their fingerprints. Not Effect's `Random`: that one may be seeded, this one never. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { trusted } from "./Store.ts"

/** The fingerprint under which a token, code or client secret is stored: BASE64URL(SHA-256(value)), 43 characters. */
export const TokenHash = Schema.NonEmptyString.pipe(Schema.brand("@startlist/TokenHash"))
export type TokenHash = typeof TokenHash.Type

/** What is made: each kind has a prefix of its own, so that leaked credentials can be found by scanners. */
export type Kind = "access" | "refresh" | "code" | "client" | "challenge" | "claim" | "event"

export const prefixes: Readonly<Record<Kind, string>> = {
  access: "sl_at_",
  refresh: "sl_rt_",
  code: "sl_ac_",
  client: "sl_cs_",
  challenge: "",
  claim: "",
  event: "evt_"
}

/** Source of secrets. */
export class Secrets extends Context.Tag("@startlist/core/Secrets")<Secrets, Secrets.Service>() {}

export declare namespace Secrets {
  export interface Service {
    /** A fresh value: the prefix of its kind, a name if it has one, and at least 256 unguessable bits in base64url. */
    readonly make: (kind: Kind, name?: string) => Effect.Effect<Redacted.Redacted<string>>
    /** A fresh webhook signing secret: `whsec_` and 32 bytes in standard base64 (Standard Webhooks). */
    readonly makeSigning: Effect.Effect<Redacted.Redacted<string>>
    /** BASE64URL(SHA-256(value)): the stored form of a secret, and the S256 transformation of RFC 7636 §4.2. */
    readonly hash: (value: string) => TokenHash
  }
}

/**
 * Predictable secrets for tests: `sl_at_7_42_1`, `sl_cs_2`, …; the "hash" is only a marked copy. Gives two runs of one
 * program the same trace. Never for production.
 */
export const layerTest: Layer.Layer<Secrets> = Layer.sync(Secrets, () => {
  let made = 0
  return {
    make: (kind, name = "") => Effect.sync(() => Redacted.make(`${prefixes[kind]}${name}${++made}`)),
    makeSigning: Effect.sync(() => Redacted.make(`whsec_${String(++made).padStart(43, "0")}=`)),
    hash: (value) => trusted(TokenHash, `#${value}`)
  }
})
