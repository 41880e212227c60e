/** Sign-in and audit, in memory, in the embedded database and in PostgreSQL. */
import { expect, layer } from "@effect/vitest"
import { Secrets, User } from "@startlist/core"
import { Accounts } from "@startlist/pages"
import { Embedded, Postgres, Seal, Users } from "@startlist/postgres"
import { DateTime, Duration, Effect, Either, Layer, Option, Redacted, Schema, TestClock } from "effect"
import { layer as testDatabase, TestDatabase } from "@startlist/test-support/TestDatabase"
import * as MemoryAccounts from "@startlist/test-support/MemoryAccounts"
import * as AccountStore from "../src/accounts/AccountStore.ts"
import * as AuditLog from "../src/data/AuditLog.ts"
import * as ServiceTables from "../src/data/ServiceTables.ts"
import * as LocalAccounts from "../src/accounts/LocalAccounts.ts"
import * as TestSecrets from "@startlist/testing/TestSecrets"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const { PasswordCheck } = Accounts

type Kept = AccountStore.AccountStore | User.UserStore | AuditLog.AuditLog

const seal = Seal.layerWith({ key: Redacted.make(Buffer.alloc(32, 3).toString("base64")) })
const migrations = [ServiceTables.migrations()]
const sql = Layer.merge(AccountStore.layer, AuditLog.layer).pipe(Layer.provideMerge(Users.layer))

const memory: Layer.Layer<Kept> = Layer.merge(MemoryAccounts.accounts, MemoryAccounts.audit)

const embedded: Layer.Layer<Kept> = Layer.unwrapScoped(
  Effect.map(temporaryFolder, (folder) => Layer.provide(sql, Embedded.layerWith({ folder, migrations })))
).pipe(Layer.provide(seal), Layer.orDie)

const postgres: Layer.Layer<Kept> = Layer.unwrapEffect(
  Effect.map(TestDatabase, ({ url }) => Layer.provide(sql, Postgres.layer({ url, migrations })))
).pipe(Layer.provide([seal, testDatabase]), Layer.orDie)

/** One of four passwords, and one of the sessions that were started so far. */
const SessionOperation = Schema.Struct({
  kind: Schema.Literal("sign in", "change", "reset", "end", "end others", "disable", "enable"),
  password: Schema.Int.pipe(Schema.between(0, 3)),
  session: Schema.Int.pipe(Schema.between(0, 7))
})

let people = 0
const someone = (): Users.NewUser => ({
  role: "athlete",
  email: `Person-${++people}@example.test`,
  firstName: "Ada",
  lastName: "Lovelace"
})

const secret = Redacted.make

const origin = { device: "Firefox, Windows", network: "192.0.2.7" }

const register = Effect.gen(function*() {
  const registrar = yield* LocalAccounts.Registrar
  return yield* registrar.register(someone(), secret("pass word"))
})

/** Signs in a user who was registered here. */
const start = (user: User.User) =>
  Effect.gen(function*() {
    const { startSession, verifyPassword } = yield* Accounts.Accounts
    const check = yield* verifyPassword(user.email, secret("pass word"))
    return Option.getOrThrow(check._tag === "Correct" ? yield* startSession(check, origin) : Option.none())
  })

for (const [name, kept] of Object.entries({ memory, embedded, postgres })) {
  const accounts = LocalAccounts.layer.pipe(Layer.provide(TestSecrets.layer("accounts")), Layer.provideMerge(kept))

  layer(accounts)(name, (it) => {
    it.effect("only the right password signs in; the case of the address does not matter", () =>
      Effect.gen(function*() {
        const { verifyPassword } = yield* Accounts.Accounts
        const user = yield* register
        for (const email of [user.email, user.email.toUpperCase()]) {
          expect(yield* verifyPassword(email, secret("pass word"))).toEqual(
            PasswordCheck.Correct({ user, proof: expect.anything() })
          )
        }
        for (const wrong of ["", "pass  word", "Pass word", "pass word\0", "x".repeat(60_000)]) {
          expect(yield* verifyPassword(user.email, secret(wrong))).toEqual(PasswordCheck.Wrong({ user }))
        }
        for (const unknown of ["", "nobody@example.test", "\0", "\ud800", `${user.email} `, "%", "x".repeat(60_000)]) {
          expect(yield* verifyPassword(unknown, secret("pass word"))).toEqual(PasswordCheck.Unknown())
        }
      }))

    it.effect("a password is the same with composed and decomposed characters", () =>
      Effect.gen(function*() {
        const { verifyPassword } = yield* Accounts.Accounts
        const registrar = yield* LocalAccounts.Registrar
        const user = yield* registrar.register(someone(), secret("caf\u00e9"))
        expect(yield* verifyPassword(user.email, secret("cafe\u0301"))).toEqual(
          PasswordCheck.Correct({ user, proof: expect.anything() })
        )
      }))

    it.effect("an address that is taken is refused; the first user and password do not change", () =>
      Effect.gen(function*() {
        const { verifyPassword } = yield* Accounts.Accounts
        const registrar = yield* LocalAccounts.Registrar
        const user = yield* register
        const again = { ...someone(), email: user.email.toUpperCase() }
        const refused = yield* Effect.either(registrar.register(again, secret("other")))
        expect(Either.isLeft(refused) && refused.left._tag).toBe("@startlist/postgres/EmailTaken")
        expect(yield* verifyPassword(user.email, secret("other"))).toEqual(PasswordCheck.Wrong({ user }))
        expect(yield* verifyPassword(user.email, secret("pass word"))).toEqual(
          PasswordCheck.Correct({ user, proof: expect.anything() })
        )
      }))

    it.effect("passwords are stored as argon2id hashes, and sessions as hashes", () =>
      Effect.gen(function*() {
        const store = yield* AccountStore.AccountStore
        const user = yield* register
        const account = Option.getOrThrow(yield* store.findByEmail(user.email))
        expect(account.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
        const value = Redacted.value(yield* start(user))
        expect(value).toMatch(/^sl_se_[\w-]{43}$/)
        const unhashed = Secrets.Fingerprint.make(value)
        expect(yield* store.findSession(unhashed)).toEqual(Option.none())
      }))

    it.effect("a session lasts until it is ended, and ending one ends no other", () =>
      Effect.gen(function*() {
        const { endSession, findSession, listSessions } = yield* Accounts.Accounts
        const user = yield* register
        const one = yield* start(user)
        const other = yield* start(user)
        expect(yield* findSession(one)).toEqual(Option.some(user))
        expect((yield* listSessions(user.id)).map(({ origin }) => origin)).toEqual([origin, origin])
        yield* endSession(one)
        yield* endSession(secret("unknown"))
        expect(yield* findSession(one)).toEqual(Option.none())
        expect(yield* findSession(other)).toEqual(Option.some(user))
        expect(yield* findSession(secret("sl_se_unknown"))).toEqual(Option.none())
      }))

    it.effect("a user has at most 50 sessions: the oldest one ends", () =>
      Effect.gen(function*() {
        const store = yield* AccountStore.AccountStore
        const [user, other] = [yield* register, yield* register]
        const start = (id: User.UserId, place: number) =>
          Effect.gen(function*() {
            const { passwordHash } = Option.getOrThrow(yield* store.find(id))
            const at = DateTime.unsafeMake(1_000_000 + place)
            const hash = Secrets.Fingerprint.make(`${id}-${place}`.padEnd(43, "x"))
            yield* store.insertSession({ hash, userId: id, startedAt: at, seenAt: at, origin }, passwordHash)
          })
        yield* start(other.id, 0)
        for (let place = 0; place < 53; place++) yield* start(user.id, place)
        const started = (yield* store.listSessions(user.id)).map(({ startedAt }) => startedAt.epochMillis - 1_000_000)
        expect(started).toEqual(Array.from({ length: 50 }, (_, place) => 52 - place))
        expect(yield* store.listSessions(other.id)).toHaveLength(1)
      }))

    it.effect("a sign-in with a password that is replaced at the same time starts no session", () =>
      Effect.gen(function*() {
        const store = yield* AccountStore.AccountStore
        const user = yield* register
        const now = yield* DateTime.now
        let present = Option.getOrThrow(yield* store.find(user.id)).passwordHash
        for (let round = 0; round < 20; round++) {
          const session = {
            hash: Secrets.Fingerprint.make(`${user.id}-${round}`.padEnd(43, "x")),
            userId: user.id,
            startedAt: now,
            seenAt: now,
            origin
          }
          const both = [
            store.insertSession(session, present),
            store.replacePassword({ id: user.id, from: present, to: `another ${round}` })
          ]
          const [first, second] = yield* Effect.all(round % 2 === 0 ? both : [...both].reverse(), {
            concurrency: "unbounded"
          })
          expect(round % 2 === 0 ? second : first).toBe(true)
          expect(yield* store.listSessions(user.id)).toEqual([])
          expect(yield* store.insertSession(session, present)).toBe(false)
          present = `another ${round}`
        }
        yield* store.setDisabled(user.id, true)
        const session = {
          hash: Secrets.Fingerprint.make("x".repeat(43)),
          userId: user.id,
          startedAt: now,
          seenAt: now,
          origin
        }
        expect(yield* store.insertSession(session, present)).toBe(false)
        yield* store.setDisabled(user.id, false)
        expect(yield* store.insertSession(session, present)).toBe(true)
      }))

    it.effect.prop(
      "a session starts only with the current password, and a change of it ends all other sessions, in any order",
      { operations: Schema.Array(SessionOperation).pipe(Schema.maxItems(25)) },
      ({ operations }) =>
        Effect.gen(function*() {
          const store = yield* AccountStore.AccountStore
          const { id } = yield* store.insert(someone(), "password 0")
          const now = yield* DateTime.now
          const hashOf = (place: number) => Secrets.Fingerprint.make(`${id}-${place}`.padEnd(43, "x"))
          let [current, started, isDisabled] = [0, 0, false]
          let live: ReadonlyArray<number> = []
          for (const { kind, password, session } of operations) {
            const place = session % Math.max(1, started)
            switch (kind) {
              case "sign in": {
                const fields = { hash: hashOf(started), userId: id, startedAt: now, seenAt: now, origin }
                const isStarted = yield* store.insertSession(fields, `password ${password}`)
                expect(isStarted).toBe(password === current && !isDisabled)
                if (isStarted) live = [...live, started++]
                break
              }
              case "change":
              case "reset": {
                const except = kind === "change" ? { except: hashOf(place) } : {}
                const [from, to] = [`password ${password}`, `password ${(current + 1) % 4}`]
                const isReplaced = yield* store.replacePassword({ id, from, to, ...except })
                expect(isReplaced).toBe(password === current)
                if (!isReplaced) break
                current = (current + 1) % 4
                live = live.filter((one) => kind === "change" && one === place)
                break
              }
              case "end":
                yield* store.removeSession(hashOf(place))
                live = live.filter((one) => one !== place)
                break
              case "end others":
                yield* store.endSessions(id, hashOf(place))
                live = live.filter((one) => one === place)
                break
              default:
                isDisabled = kind === "disable"
                yield* store.setDisabled(id, isDisabled)
                if (isDisabled) live = []
            }
            const found = yield* store.listSessions(id)
            expect(found.map(({ hash }) => hash).sort()).toEqual(live.map(hashOf).sort())
          }
        }),
      { fastCheck: { numRuns: 25 } }
    )

    it.effect("a session ends after a day without use", () =>
      Effect.gen(function*() {
        const { findSession } = yield* Accounts.Accounts
        const session = yield* start(yield* register)
        yield* TestClock.adjust(Duration.subtract(Duration.days(1), Duration.millis(1)))
        expect(Option.isSome(yield* findSession(session))).toBe(true)
        yield* TestClock.adjust(Duration.days(1))
        expect(yield* findSession(session)).toEqual(Option.none())
      }))

    it.effect("each use prolongs a session, up to two weeks", () =>
      Effect.gen(function*() {
        const { findSession } = yield* Accounts.Accounts
        const session = yield* start(yield* register)
        for (let hours = 20; hours < 14 * 24; hours += 20) {
          yield* TestClock.adjust(Duration.hours(20))
          expect(Option.isSome(yield* findSession(session))).toBe(true)
        }
        yield* TestClock.adjust(Duration.hours(20))
        expect(yield* findSession(session)).toEqual(Option.none())
      }))

    it.effect("the purge removes ended sessions only, in batches", () =>
      Effect.gen(function*() {
        const store = yield* AccountStore.AccountStore
        const { findSession } = yield* Accounts.Accounts
        const user = yield* register
        yield* TestClock.adjust(Duration.days(30))
        while ((yield* store.purgeSessions(yield* DateTime.now, 100)) > 0);
        for (let i = 0; i < 3; i++) yield* start(user)
        yield* TestClock.adjust(Duration.hours(30))
        const live = yield* start(user)
        const now = yield* DateTime.now
        expect(yield* store.purgeSessions(now, 2)).toBe(2)
        expect(yield* store.purgeSessions(now, 2)).toBe(1)
        expect(yield* store.purgeSessions(now, 2)).toBe(0)
        expect(Option.isSome(yield* findSession(live))).toBe(true)
      }))

    it.effect("the audit is read newest first, page by page, and purged by age", () =>
      Effect.gen(function*() {
        const log = yield* AuditLog.AuditLog
        const line = (action: string) =>
          Effect.map(DateTime.now, (at): AuditLog.NewAuditEntry => ({
            at,
            action,
            actor: { type: "user", id: 7 },
            subject: { type: "unknown" },
            address: "127.0.0.1\0\ud800",
            outcome: "refused",
            detail: "é \u{1F3C3}"
          }))
        for (let i = 1; i <= 5; i++) {
          yield* log.append(yield* line(`action ${i}`))
          yield* TestClock.adjust(Duration.days(20))
        }
        const first = yield* log.list({ ...AuditLog.everything, limit: 2 })
        expect(first.map(({ action }) => action)).toEqual(["action 5", "action 4"])
        expect(first[0]).toMatchObject({ actor: { type: "user", id: 7 }, outcome: "refused" })
        const second = yield* log.list({ ...AuditLog.everything, after: Option.fromNullable(first[1]?.id), limit: 2 })
        expect(second.map(({ action }) => action)).toEqual(["action 3", "action 2"])
        const listed = (filter: Partial<AuditLog.AuditFilter>) =>
          Effect.map(
            log.list({ ...AuditLog.everything, limit: 10, ...filter }),
            (found) => found.map(({ action }) => action)
          )
        const third = Option.map(Option.fromNullable(second[0]), ({ at }) => at)
        expect(yield* listed({ action: Option.some("action 2") })).toEqual(["action 2"])
        expect(yield* listed({ since: third })).toEqual(["action 5", "action 4", "action 3"])
        expect(yield* listed({ until: third })).toEqual(["action 2", "action 1"])
        expect(yield* listed({ userId: Option.some(7), until: third })).toEqual(["action 2", "action 1"])
        expect(yield* listed({ userId: Option.some(8) })).toEqual([])
        expect(yield* listed({ applicationId: Option.some(7) })).toEqual([])
        const before = DateTime.subtractDuration(yield* DateTime.now, Duration.days(60))
        while ((yield* log.purge(before, 2)) > 0);
        expect((yield* log.list({ ...AuditLog.everything, limit: 10 })).map(({ action }) => action)).toEqual([
          "action 5",
          "action 4",
          "action 3"
        ])
      }))
  })
}
