/** Compares two implementations of one derivation. `NodeSecrets.test.ts` has the rules. */
import { describe, expect, it } from "@effect/vitest"
import { Secrets } from "@startlist/core"
import { NodeSecrets, WebSecrets } from "@startlist/http"
import { TestSecrets } from "@startlist/testing"
import { Effect, FastCheck, type Layer, Option, Redacted } from "effect"

const keys = { key: Redacted.make(Buffer.alloc(32, 1).toString("base64")) }
const others = { key: Redacted.make(Buffer.alloc(32, 2).toString("base64")), retired: [keys.key] }

const secretsOf = (layer: Layer.Layer<Secrets.Secrets, Secrets.InvalidKey>) =>
  Effect.runSync(Effect.provide(Secrets.Secrets, layer))

const onNode = secretsOf(NodeSecrets.layerWith(keys))
const onWeb = secretsOf(WebSecrets.layerWith(keys))

const text = FastCheck.oneof(
  FastCheck.string({ unit: "binary" }),
  FastCheck.string({ minLength: 1000, maxLength: 1100 })
)
const origin = FastCheck.record({
  presented: text.map((value) => Redacted.make(value)),
  salt: text,
  idempotencyKey: FastCheck.option(text).map(Option.fromNullable)
})

const shown = ({ accessToken, refreshToken }: Secrets.TokenPair) => [
  Redacted.value(accessToken),
  Redacted.value(refreshToken)
]

describe("secrets by Web Crypto and @noble/hashes", () => {
  it("both implementations make and accept the same tokens", () => {
    const [nodeKey] = onNode.keys
    const [webKey] = onWeb.keys
    const [, retired] = secretsOf(WebSecrets.layerWith(others)).keys
    FastCheck.assert(FastCheck.property(origin, text, text, (from, access, refresh) => {
      const byNode = nodeKey.derive(from, access, refresh)
      const byWeb = webKey.derive(from, access, refresh)
      expect(shown(byWeb)).toEqual(shown(byNode))
      expect(nodeKey.isAuthentic(byWeb.refreshToken)).toBe(true)
      expect(webKey.isAuthentic(byNode.refreshToken)).toBe(true)
      expect(retired?.isAuthentic(byNode.refreshToken)).toBe(true)
    }))
  })

  it("both refuse a changed token, and one of another key", () => {
    const [nodeKey] = onNode.keys
    const [webKey] = onWeb.keys
    const [otherKey] = secretsOf(WebSecrets.layerWith(others)).keys
    FastCheck.assert(FastCheck.property(origin, FastCheck.nat(), FastCheck.string(), (from, place, piece) => {
      const good = Redacted.value(webKey.derive(from, "7_", "8_").refreshToken)
      const at = place % good.length
      const changes = [good.slice(0, at), good.slice(0, at) + piece + good.slice(at + 1), `${good}A`, piece]
      for (const changed of changes.filter((change) => change !== good).map((change) => Redacted.make(change))) {
        expect([nodeKey.isAuthentic(changed), webKey.isAuthentic(changed)]).toEqual([false, false])
      }
      expect(otherKey.isAuthentic(Redacted.make(good))).toBe(false)
    }))
  })

  it("hashes are the same for every text, also with the secrets of tests", () => {
    const inTests = secretsOf(TestSecrets.layer("test"))
    FastCheck.assert(FastCheck.property(text, (value) => {
      expect(onWeb.hash(value)).toBe(onNode.hash(value))
      expect(inTests.hash(value)).toBe(onNode.hash(value))
    }))
  })

  it.effect("random values have the same form, and never repeat", () =>
    Effect.gen(function*() {
      const secrets = yield* Secrets.Secrets
      const values = yield* Effect.replicateEffect(secrets.make("code", "1_"), 1000)
      expect(new Set(values.map(Redacted.value)).size).toBe(1000)
      for (const value of values) expect(Redacted.value(value)).toMatch(/^sl_ac_1_[\w-]{43}$/)
      expect(yield* secrets.makeSalt).toMatch(/^[\w-]{22}$/)
      expect(Redacted.value(yield* secrets.makeSigning)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    }).pipe(Effect.provide(WebSecrets.layerDrawn)))

  it.effect("a key of another size is refused", () =>
    Effect.gen(function*() {
      const refused = Effect.provide(Secrets.Secrets, WebSecrets.layerWith({ key: Redacted.make("c2hvcnQ=") }))
      expect(yield* Effect.flip(refused)).toEqual(new Secrets.InvalidKey())
    }))
})
