import { describe, expect, it } from "@effect/vitest"
import { Secrets } from "@startlist/core"
import { NodeSecrets } from "@startlist/http"
import { Effect, FastCheck, Option, Redacted } from "effect"
import { createHmac, hkdfSync } from "node:crypto"

const kinds = ["code", "client", "challenge", "claim", "event"] as const

const masterKey = (fill: number) => Redacted.make(Buffer.alloc(32, fill).toString("base64"))

const keysOf = (keys: Secrets.MasterKeys) =>
  Effect.map(Secrets.Secrets, ({ keys }) => keys).pipe(Effect.provide(NodeSecrets.layerWith(keys)), Effect.runSync)

describe("secrets by node:crypto", () => {
  it.effect("have the prefix of their kind and 256 bits in base64url; a salt has 128", () =>
    Effect.gen(function*() {
      const secrets = yield* Secrets.Secrets
      for (const kind of kinds) {
        const value = Redacted.value(yield* secrets.make(kind))
        expect(value.slice(0, Secrets.prefixes[kind].length)).toBe(Secrets.prefixes[kind])
        expect(value.slice(Secrets.prefixes[kind].length)).toMatch(/^[\w-]{43}$/)
      }
      expect(yield* secrets.makeSalt).toMatch(/^[\w-]{22}$/)
    }).pipe(Effect.provide(NodeSecrets.layerDrawn)))

  it.effect("never repeat, over many refills of the pool", () =>
    Effect.gen(function*() {
      const { make } = yield* Secrets.Secrets
      const values = yield* Effect.replicateEffect(make("code"), 2000)
      expect(new Set(values.map(Redacted.value)).size).toBe(2000)
      expect(values.map(Redacted.value)).not.toContain(`sl_ac_${"A".repeat(43)}`)
    }).pipe(Effect.provide(NodeSecrets.layerDrawn)))

  it.effect("signing secrets are whsec_ and 32 bytes in base64 (Standard Webhooks)", () =>
    Effect.gen(function*() {
      const { makeSigning } = yield* Secrets.Secrets
      expect(Redacted.value(yield* makeSigning)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    }).pipe(Effect.provide(NodeSecrets.layerDrawn)))

  it.effect("the hash is the S256 transformation of RFC 7636, appendix B", () =>
    Effect.gen(function*() {
      const { hash } = yield* Secrets.Secrets
      expect(hash("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")).toBe("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }).pipe(Effect.provide(NodeSecrets.layerDrawn)))

  it.effect("a key of another size is refused", () =>
    Effect.gen(function*() {
      const refused = Effect.provide(Secrets.Secrets, NodeSecrets.layerWith({ key: Redacted.make("c2hvcnQ=") }))
      expect(yield* Effect.flip(refused)).toEqual(new Secrets.InvalidKey())
    }))
})

it("the HMAC is that of node:crypto, for every key and text", () => {
  const text = FastCheck.oneof(
    FastCheck.string({ unit: "binary" }),
    FastCheck.string({ minLength: 1000, maxLength: 1100 })
  )
  const master = FastCheck.uint8Array({ minLength: 32, maxLength: 32 })
  FastCheck.assert(
    FastCheck.property(master, FastCheck.array(text), (master, texts) => {
      const [{ mac }] = keysOf({ key: Redacted.make(Buffer.from(master).toString("base64")) })
      const key = new Uint8Array(hkdfSync("sha256", master, "", "startlist authentication code", 32))
      for (const one of texts) expect(mac(one)).toBe(createHmac("sha256", key).update(one).digest("base64url"))
    })
  )
})

describe("a pair of tokens", () => {
  const [key] = keysOf({ key: masterKey(1) })
  const word = FastCheck.stringMatching(/^[\w-]{1,60}$/)
  /** The origin of a pair. */
  const origin = FastCheck.record({
    presented: word,
    salt: word,
    idempotencyKey: FastCheck.option(FastCheck.stringMatching(/^[ -~]{1,255}$/)),
    refreshName: FastCheck.tuple(FastCheck.nat(), FastCheck.nat(), FastCheck.nat(), FastCheck.nat()).map((numbers) =>
      numbers.map((number) => `${number}_`).join("")
    )
  })
  type Given = typeof origin extends FastCheck.Arbitrary<infer Given> ? Given : never
  const derive = ({ idempotencyKey, presented, refreshName, salt }: Given, by = key) => {
    const given = { presented: Redacted.make(presented), salt, idempotencyKey: Option.fromNullable(idempotencyKey) }
    const { accessToken, refreshToken } = by.derive(given, "7_42_", refreshName)
    return { access: Redacted.value(accessToken), refresh: Redacted.value(refreshToken) }
  }

  it("is the same for the same origin and key, and otherwise has nothing in common", () => {
    const other = keysOf({ key: masterKey(2) })[0]
    FastCheck.assert(FastCheck.property(origin, origin, (one, another) => {
      const pair = derive(one)
      expect(derive(one)).toEqual(pair)
      const changed: ReadonlyArray<Given> = [
        { ...one, presented: another.presented },
        { ...one, salt: another.salt },
        { ...one, idempotencyKey: another.idempotencyKey },
        { ...one, refreshName: another.refreshName },
        // Moving characters from one part to the next changes the origin.
        { ...one, presented: one.presented + one.salt, salt: "" }
      ]
      const isSame = (given: Given) => JSON.stringify(given) === JSON.stringify(one)
      for (
        const next of [...changed.filter((given) => !isSame(given)).map((given) => derive(given)), derive(one, other)]
      ) {
        expect(next.access.slice(-43)).not.toBe(pair.access.slice(-43))
        expect(next.refresh.slice(-65)).not.toBe(pair.refresh.slice(-65))
      }
    }))
  })

  it("has 256 bits in each token, and the tokens share no part", () => {
    FastCheck.assert(FastCheck.property(origin, (given) => {
      const { access, refresh } = derive(given)
      expect(access).toMatch(/^sl_at_7_42_[\w-]{43}$/)
      expect(refresh.startsWith(`sl_rt_${given.refreshName}`)).toBe(true)
      const secret = refresh.slice(`sl_rt_${given.refreshName}`.length)
      expect(secret).toMatch(/^[\w-]{65}$/)
      expect(secret).not.toContain(access.slice(-43, -33))
    }))
  })

  it("has a refresh token that only its key accepts, and only without changes", () => {
    const [, retired] = keysOf({ key: masterKey(2), retired: [masterKey(1)] })
    const other = keysOf({ key: masterKey(2) })[0]
    const place = FastCheck.nat(200)
    FastCheck.assert(FastCheck.property(origin, place, (given, at) => {
      const { access, refresh } = derive(given)
      expect(key.isAuthentic(Redacted.make(refresh))).toBe(true)
      expect(retired?.isAuthentic(Redacted.make(refresh))).toBe(true)
      expect(other.isAuthentic(Redacted.make(refresh))).toBe(false)
      const where = at % refresh.length
      const changed = refresh.slice(0, where) + (refresh[where] === "x" ? "y" : "x") + refresh.slice(where + 1)
      expect(key.isAuthentic(Redacted.make(changed))).toBe(false)
      for (const text of ["", "sl_rt_", refresh.slice(0, -1), `${refresh}A`, access]) {
        expect(key.isAuthentic(Redacted.make(text))).toBe(false)
      }
    }))
  })
})
