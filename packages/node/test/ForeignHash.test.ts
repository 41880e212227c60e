/** Passwords and client secrets whose hashes the libraries of other servers have made. */
import { expect, it } from "@effect/vitest"
import { Application, Client, Secrets, User } from "@startlist/core"
import { FailureLimit } from "@startlist/http"
import { accounts as accountsInMemory } from "@startlist/test-support/MemoryAccounts"
import { AccountStore, noPassword } from "@startlist/node/accounts/AccountStore"
import * as ForeignHash from "@startlist/node/accounts/ForeignHash"
import * as LocalAccounts from "@startlist/node/accounts/LocalAccounts"
import { Accounts } from "@startlist/pages"
import { TestSecrets } from "@startlist/testing"
import { Effect, Fiber, Layer, Option, Redacted } from "effect"
import { vi } from "vitest"

vi.mock("@node-rs/argon2", { spy: true })

const secret = "correct horse battery staple é"

/** By the program that made it: Apache's htpasswd, libxcrypt, hashlib of Python in Django's and passlib's formats, argon2. */
const hashes = {
  "htpasswd -B (PHP, Laravel)": "$2y$05$7zy5fweqbtFBgw1K.EMFM.5xmJY1See7b8sq46v6BE0J8tnZOYanS",
  "crypt (Ruby, Doorkeeper, Devise)": "$2b$05$abcdefghijklmnopqrstuutemCiZa1lfEXVddPrdU3so4kdhxuUtS",
  "Django bcrypt": "bcrypt$$2b$05$abcdefghijklmnopqrstuutemCiZa1lfEXVddPrdU3so4kdhxuUtS",
  "Django bcrypt_sha256": "bcrypt_sha256$$2b$05$abcdefghijklmnopqrstuuBE/rEe9LqGhfdfo4CC9Xlw54N8XslIG",
  "Django pbkdf2_sha256": "pbkdf2_sha256$1000$seasalt$uPNvHm1x34bcytmbJkdxMve/igvH6JMvy7eVJDJdaUo=",
  "Django pbkdf2_sha1": "pbkdf2_sha1$1000$seasalt$qgXLDbIycnela9qeeMkSjbPl/0s=",
  "passlib pbkdf2":
    "$pbkdf2-sha512$1000$yMnKy8zNzs/Q0dLT1NXW1w$kpF6FYb.cpVvYgwZfBVNVYocw4SHu.bfnE.yKW8XtTg8SzxxBUqgcqA4wZxngETyA9IIrlbuVmi/lc5C8y0fZA",
  "argon2": "$argon2id$v=19$m=4096,t=2,p=4$c29tZXNhbHRzYWx0$FrSLcdTojJwUVpNZ+c13lF/pDZ2+05qMTCLf/vkmxnQ",
  "Django argon2": "argon2$argon2id$v=19$m=4096,t=2,p=4$c29tZXNhbHRzYWx0$FrSLcdTojJwUVpNZ+c13lF/pDZ2+05qMTCLf/vkmxnQ"
}

for (const [name, hash] of Object.entries(hashes)) {
  it(`a hash of ${name} matches its secret only`, async () => {
    expect(ForeignHash.problem(hash)).toEqual(Option.none())
    expect(await ForeignHash.matches(hash, secret)).toBe(true)
    expect(await ForeignHash.matches(hash, `${secret} `)).toBe(false)
  })
}

it("unknown hashes, and those that take too long, are refused", async () => {
  const refused = [
    "!",
    "secret",
    "$2b$15$abcdefghijklmnopqrstuutemCiZa1lfEXVddPrdU3so4kdhxuUtS",
    "$2b$05$abc",
    "pbkdf2_sha256$0$salt$AAAA",
    "pbkdf2_sha256$2000001$salt$AAAA",
    "pbkdf2_md5$1000$salt$AAAA",
    "$argon2id$v=19$m=4194304,t=2,p=4$c29tZXNhbHRzYWx0$FrSLcdTojJwUVpNZ"
  ]
  for (const hash of refused) expect(Option.isSome(ForeignHash.problem(hash)), hash).toBe(true)
  expect(await ForeignHash.matches("!", "!")).toBe(false)
})

const origin = { device: "Firefox, Windows", network: "192.0.2.7" }

const layerAccounts = LocalAccounts.layer.pipe(
  Layer.provideMerge(accountsInMemory),
  Layer.provide(TestSecrets.layer("foreign"))
)

it.effect("an imported password signs in, twice at the same moment too, and is stored as ours", () =>
  Effect.gen(function*() {
    const accounts = yield* Accounts.Accounts
    const store = yield* AccountStore
    const user = { id: User.UserId.make(7), role: "athlete", email: "a@b.test", firstName: "", lastName: "" } as const
    yield* store.add({ user, passwordHash: hashes["htpasswd -B (PHP, Laravel)"], disabled: false })
    const signIn = (password: string) => accounts.verifyPassword(user.email, Redacted.make(password))
    expect((yield* signIn("wrong"))._tag).toBe("Wrong")
    const both = yield* Effect.all([signIn(secret), signIn(secret)], { concurrency: 2 })
    for (const checked of both) {
      if (checked._tag !== "Correct") return expect.fail(checked._tag)
      expect(Option.isSome(yield* accounts.startSession(checked, origin))).toBe(true)
    }
    const stored = Option.getOrThrow(yield* store.find(user.id)).passwordHash
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect((yield* signIn(secret))._tag).toBe("Correct")
  }).pipe(Effect.provide(layerAccounts)))

it.effect("a user without a password, as imported, gets the check that an unknown one gets", () =>
  Effect.gen(function*() {
    const { verifyPassword } = yield* Accounts.Accounts
    const { add } = yield* AccountStore
    const user = { id: User.UserId.make(8), role: "athlete", email: "b@b.test", firstName: "", lastName: "" } as const
    yield* add({ user, passwordHash: noPassword, disabled: false })
    const { verify } = yield* Effect.promise(() => import("@node-rs/argon2"))
    for (const [email, _tag] of [["nobody@b.test", "Unknown"], [user.email, "Wrong"]] as const) {
      vi.mocked(verify).mockClear()
      expect(yield* verifyPassword(email, Redacted.make(noPassword))).toMatchObject({ _tag })
      expect(verify).toHaveBeenCalledTimes(1)
    }
  }).pipe(Effect.provide(layerAccounts)))

const client = (given: string, address: string): Client.ClientCredentials => ({
  id: Application.ApplicationId.make(1),
  secret: Redacted.make(given),
  address
})

it.effect("wrong client secrets are checked within the limit of their client and network", () =>
  Effect.gen(function*() {
    const { matches } = yield* Client.ImportedHashes
    const { take } = yield* FailureLimit.FailureLimit
    const hash = hashes["Django pbkdf2_sha256"]
    expect(yield* matches(hash, client(secret, "192.0.2.1"))).toBe(true)
    expect(yield* matches(hash, client("wrong", "192.0.2.1"))).toBe(false)
    // The endpoint counts each refusal.
    for (let count = 0; count < 30; count++) yield* take(FailureLimit.clientKeys(1, "192.0.2.1"))
    expect(yield* matches(hash, client(secret, "192.0.2.1"))).toBe(false)
    expect(yield* matches(hash, client(secret, "198.51.100.1"))).toBe(true)
    const burst = Array.from({ length: 60 }, () => Effect.either(matches(hash, client("wrong", "203.0.113.1"))))
    yield* Effect.all(burst, { concurrency: "unbounded" })
    expect(yield* matches(hash, client(secret, "203.0.113.1"))).toBe(true)
  }).pipe(Effect.provide(Layer.provideMerge(ForeignHash.layerClients, FailureLimit.layerMemory))))

it.effect("the first requests of a busy client share one check, also if the first of them ends early", () =>
  Effect.gen(function*() {
    const { matches } = yield* Client.ImportedHashes
    const one = matches(hashes["Django pbkdf2_sha256"], client(secret, "192.0.2.1"))
    const first = yield* Effect.fork(one)
    yield* Effect.yieldNow()
    const others = yield* Effect.forkAll(Array.from({ length: 100 }, () => one))
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(first)
    expect(new Set(yield* Fiber.join(others))).toEqual(new Set([true]))
  }).pipe(Effect.provide(Layer.provideMerge(ForeignHash.layerClients, FailureLimit.layerMemory))))

it("our own fingerprints are not foreign", () => {
  expect(Client.isForeign(Secrets.Fingerprint.make("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))).toBe(false)
})
