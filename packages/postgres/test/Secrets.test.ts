import { it } from "@effect/vitest"
import { Applications, OAuth, Secrets, Subscriptions } from "@startlist/core"
import { Seal, Users } from "@startlist/postgres"
import { Effect, Either, Option, Redacted } from "effect"
import { describe, expect } from "vitest"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

/** Uses every kind of secret. Returns the secrets that clients got. */
const everySecret = Effect.gen(function*() {
  const users = yield* Users.Users
  const applications = yield* Applications.Applications
  const oauth = yield* OAuth.OAuth
  const subscriptions = yield* Subscriptions.Subscriptions
  const owner = yield* users.insert({ role: "platform", email: "owner@a.test", firstName: "O", lastName: "P" })
  const settings = { name: "App", redirectUris: ["https://app.test/callback"], requirePkce: false }
  const { application, secret, signingSecret } = yield* applications.create(owner.id, settings)
  const rotated = yield* applications.rotateSecret(application.id)
  const client = { id: application.id, secret: rotated.secret }
  const code = yield* oauth.consent({
    application,
    redirectUri: "https://app.test/callback",
    scope: ["read"],
    state: Option.none(),
    role: Option.none(),
    challenge: Option.none()
  }, owner)
  const first = yield* oauth.exchange({ client, code, redirectUri: Option.none(), verifier: Option.none() })
  const second = yield* oauth.refresh({ client, token: first.refreshToken })
  const access = yield* oauth.authenticate(second.accessToken)
  const verifyToken = Redacted.make("verify-token-of-the-owner")
  yield* subscriptions.create(access, { callbackUrl: "https://app.test/events", verifyToken })
  const renewed = yield* applications.rotateSigningSecret(application.id)
  return {
    opened: yield* applications.signingSecrets(application.id),
    renewed,
    secrets: [
      secret,
      rotated.secret,
      code,
      verifyToken,
      first.accessToken,
      first.refreshToken,
      second.accessToken,
      second.refreshToken,
      signingSecret,
      ...renewed.secrets.map(({ value }) => value)
    ].map(Redacted.value)
  }
})

describe("secrets at rest", () => {
  it.live("no table has a token, code, client secret or signing secret in plain text", () =>
    Effect.gen(function*() {
      const { admin, url } = yield* TestDatabase.TestDatabase
      const { opened, renewed, secrets } = yield* Effect.provide(everySecret, fixtures.node({ url }))
      const { rows: tables } = yield* Effect.promise(() =>
        admin.query("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()")
      )
      const dump = yield* Effect.forEach(tables, ({ name }) =>
        Effect.promise(() =>
          admin.query(`SELECT coalesce(string_agg(t::text, '\n'), '') AS text FROM "${name}" t`)
        ).pipe(
          Effect.map(({ rows }) => String(rows[0].text))
        ))
      const all = dump.join("\n")
      expect(all).toContain("https://app.test/events")
      expect(secrets.length).toBe(11)
      for (const secret of secrets) {
        // Without its prefix and its name, which is not secret.
        const bare = secret.replace(/^[a-z]+_(?:[a-z]+_)?(?:\d+_)*/, "")
        expect(all).not.toContain(bare)
        expect(all).not.toContain(Buffer.from(bare, "base64").toString("hex"))
      }
      expect(opened.secrets.map(({ value }) =>
        Redacted.value(value)
      )).toEqual(
        renewed.secrets.map(({ value }) => Redacted.value(value))
      )
    }).pipe(Effect.provide(TestDatabase.layer)))
})

describe("the seal", () => {
  const key = (fill: number) => Redacted.make(Buffer.alloc(32, fill).toString("base64"))
  const secret = Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

  it.effect("opens sealed secrets only for their owner, and never has the same output twice", () =>
    Effect.gen(function*() {
      const { open, seal } = yield* Seal.make({ key: key(1) })
      const sealed = seal("application:7", secret)
      expect(Redacted.value(yield* open("application:7", sealed))).toBe(Redacted.value(secret))
      expect(seal("application:7", secret)).not.toBe(sealed)
      expect(yield* Effect.either(open("application:8", sealed))).toEqual(
        Either.left(new Seal.CannotOpen({ reason: "damaged" }))
      )
    }))

  it.effect("opens secrets of a retired key, and refuses those of an unknown key", () =>
    Effect.gen(function*() {
      const old = yield* Seal.make({ key: key(1) })
      const sealed = old.seal("application:7", secret)
      const rotated = yield* Seal.make({ key: key(2), retired: [key(1)] })
      expect(Redacted.value(yield* rotated.open("application:7", sealed))).toBe(Redacted.value(secret))
      const other = yield* Seal.make({ key: key(2) })
      expect(yield* Effect.either(other.open("application:7", sealed))).toEqual(
        Either.left(new Seal.CannotOpen({ reason: "unknown_key" }))
      )
    }))

  it.effect("refuses a sealed secret with any changed byte", () =>
    Effect.gen(function*() {
      const { open, seal } = yield* Seal.make({ key: key(1) })
      const sealed = seal("application:7", secret)
      yield* open("application:7", sealed)
      const bytes = Buffer.from(sealed, "base64url")
      for (let at = 0; at < bytes.length; at++) {
        const changed = Buffer.from(bytes)
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
        expect(Either.isLeft(yield* Effect.either(open("application:7", changed.toString("base64url"))))).toBe(true)
      }
      expect(Either.isLeft(yield* Effect.either(open("application:7", "")))).toBe(true)
    }))

  it.effect("requires a key of 32 bytes", () =>
    Effect.gen(function*() {
      for (const bad of ["", "short", Buffer.alloc(31).toString("base64"), "!".repeat(44)]) {
        expect(yield* Effect.flip(Seal.make({ key: Redacted.make(bad) }))).toEqual(new Secrets.InvalidKey())
      }
    }))
})
