import { describe, expect, it } from "@effect/vitest"
import { Secrets } from "@startlist/core"
import { NodeSecrets } from "@startlist/http"
import { Effect, Redacted } from "effect"

const kinds: ReadonlyArray<Secrets.Kind> = ["access", "refresh", "code", "client", "challenge", "claim", "event"]

describe("secrets by node:crypto", () => {
  it.effect("are the prefix of their kind and 256 bits in base64url", () =>
    Effect.gen(function*() {
      const secrets = yield* Secrets.Secrets
      for (const kind of kinds) {
        const value = Redacted.value(yield* secrets.make(kind))
        expect(value.slice(0, Secrets.prefixes[kind].length)).toBe(Secrets.prefixes[kind])
        expect(value.slice(Secrets.prefixes[kind].length)).toMatch(/^[\w-]{43}$/)
      }
    }).pipe(Effect.provide(NodeSecrets.layer)))

  it.effect("never repeat, over many refills of the pool", () =>
    Effect.gen(function*() {
      const { make } = yield* Secrets.Secrets
      const values = yield* Effect.replicateEffect(make("access"), 2000)
      expect(new Set(values.map(Redacted.value)).size).toBe(2000)
      expect(values.map(Redacted.value)).not.toContain(`sl_at_${"A".repeat(43)}`)
    }).pipe(Effect.provide(NodeSecrets.layer)))

  it.effect("signing secrets are whsec_ and 32 bytes in base64 (Standard Webhooks)", () =>
    Effect.gen(function*() {
      const { makeSigning } = yield* Secrets.Secrets
      expect(Redacted.value(yield* makeSigning)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    }).pipe(Effect.provide(NodeSecrets.layer)))

  it.effect("the fingerprint is the S256 transformation of RFC 7636, appendix B", () =>
    Effect.gen(function*() {
      const { hash } = yield* Secrets.Secrets
      expect(hash("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")).toBe("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }).pipe(Effect.provide(NodeSecrets.layer)))
})
