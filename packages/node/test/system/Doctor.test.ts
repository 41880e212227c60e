/** `startlist doctor` on broken installations: it names the problem and the solution, and changes nothing. */
import { describe, expect, it } from "@effect/vitest"
import { Application, Subscription, User } from "@startlist/core"
import { DateTime, Effect, Option, Redacted } from "effect"
import { createServer } from "node:http"
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { layerEmpty as testDatabase, layerEmptyWith, TestDatabase } from "@startlist/test-support/TestDatabase"
import * as Configuration from "../../src/settings/Configuration.ts"
import * as Storage from "../../src/data/Storage.ts"
import { inspect } from "../../src/doctor/Doctor.ts"
import type { Finding } from "../../src/doctor/Finding.ts"
import * as Keys from "../../src/data/Keys.ts"
import { shifted } from "@startlist/test-support/ShiftedClock"
import { runStartlist, spawnStartlist } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const key = (byte: number) => Buffer.alloc(32, byte).toString("base64")

const OPERATOR_TOKEN = "a token that nobody will ever guess".replaceAll(" ", "-")

const configured = (environment: Readonly<Record<string, string>>) =>
  Effect.orDie(Configuration.decode({ DATA_DIR: "/nonexistent", PORT: "0", ...environment }, false))

/** Settings of a node on the test database. */
const onDatabase = (masterKey = key(1)) =>
  Effect.flatMap(
    TestDatabase,
    ({ url }) => configured({ DATABASE_URL: Redacted.value(url), OPERATOR_TOKEN, MASTER_KEY: masterKey })
  )

const examine = (configuration: Configuration.Configuration) => inspect(configuration, Option.none())

const about = (findings: ReadonlyArray<Finding>, what: string): Finding => {
  const found = findings.find((finding) => finding.what === what)
  if (found === undefined) throw new Error(`nothing about ${what} in ${JSON.stringify(findings)}`)
  return found
}

/** Migrates the database and stores a subscription whose secret is sealed with key 1. */
const prepare = Effect.gen(function*() {
  const configuration = yield* onDatabase()
  const keys = yield* Keys.load(configuration)
  yield* Effect.gen(function*() {
    const applications = yield* Application.ApplicationStore
    const subscriptions = yield* Subscription.SubscriptionStore
    const at = DateTime.unsafeMake(0)
    const { id: applicationId } = yield* applications.insert({
      name: "App",
      ownerId: User.UserId.make(1),
      redirectUris: [],
      requirePkce: false,
      secrets: [],
      createdAt: at
    }, Redacted.make("whsec_secret-word"))
    yield* subscriptions.insert({ applicationId, callbackUrl: "https://example.test/", createdAt: at, updatedAt: at })
  }).pipe(Effect.provide(Storage.layer(configuration, keys)))
}).pipe(Effect.orDie)

describe("a database", () => {
  it.scopedLive("without problems gets only good findings", () =>
    Effect.gen(function*() {
      yield* prepare
      const findings = yield* examine(yield* onDatabase())
      expect(findings.filter(({ level }) => level !== "good")).toEqual([])
      expect(about(findings, "master key").seen).toContain("1 applications")
      expect(about(findings, "size").seen).toMatch(
        /^(?:\w+ [\d.]+ [KM]iB, ){3}\w+ [\d.]+ [KM]iB; oldest past delivery: none, oldest audit entry: none$/
      )
    }).pipe(Effect.provide(testDatabase)))

  it.scopedLive(
    "whose secrets were sealed with another master key: bad, and no secret is shown",
    () =>
      Effect.gen(function*() {
        yield* prepare
        const findings = yield* examine(yield* onDatabase(key(2)))
        const { advice, level, seen } = about(findings, "master key")
        expect([level, seen]).toEqual(["bad", expect.stringContaining("1 of 1 applications (1)")])
        expect(advice).toContain("MASTER_KEY")
        expect(JSON.stringify(findings)).not.toContain("secret-word")
        const both = yield* examine(yield* onDatabase(`${key(2)},${key(1)}`))
        expect(about(both, "master key").level).toBe("good")
      }).pipe(Effect.provide(testDatabase))
  )

  it.scopedLive(
    "whose master key is lost: subscriptions are ended only with --end-unreadable",
    () =>
      Effect.gen(function*() {
        yield* prepare
        const { admin, url } = yield* TestDatabase
        const environment = { DATABASE_URL: Redacted.value(url), OPERATOR_TOKEN, MASTER_KEY: key(2) }
        const kept = Effect.promise(() => admin.query("SELECT application_id FROM startlist_subscriptions"))
        const reseal = (...options: ReadonlyArray<string>) =>
          Effect.promise(() => runStartlist(["reseal", ...options], environment))
        expect(yield* Effect.promise(() => runStartlist(["serve"], { ...environment, PORT: "0" }))).toMatchObject({
          code: 1,
          stderr: expect.stringContaining("MASTER_KEY: no key opens any of the signing secrets in the database")
        })
        expect(yield* reseal()).toEqual({
          code: 1,
          stdout: expect.stringContaining("of 0 applications"),
          stderr: expect.stringContaining("MASTER_KEY: no key opens the signing secrets of the applications 1.")
        })
        expect((yield* kept).rows).toHaveLength(1)
        expect(yield* reseal("--end-unreadable")).toEqual({
          code: 0,
          stdout: expect.stringMatching(/their owners must subscribe again: 1\n$/),
          stderr: ""
        })
        expect((yield* kept).rows).toEqual([])
        expect(about(yield* examine(yield* onDatabase(key(2))), "master key").level).toBe("good")
      }).pipe(Effect.provide(testDatabase))
  )

  it.scopedLive(
    "that a newer program has changed: a warning, or bad if this program cannot work with it",
    () =>
      Effect.gen(function*() {
        yield* prepare
        const { admin } = yield* TestDatabase
        const insert = (name: string, breaking: boolean) =>
          Effect.promise(() =>
            admin.query("INSERT INTO startlist_migrations (name, breaking) VALUES ($1, $2)", [name, breaking])
          )
        yield* insert("9998_future", false)
        const newer = about(yield* examine(yield* onDatabase()), "tables")
        expect([newer.level, newer.seen]).toEqual([
          "warning",
          "newer than this program, but compatible with it: 9998_future"
        ])
        yield* insert("9999_future", true)
        const { advice, level, seen } = about(yield* examine(yield* onDatabase()), "tables")
        expect([level, seen]).toEqual(["bad", "newer than this program: 9999_future"])
        expect(advice).toContain("newer")
      }).pipe(Effect.provide(testDatabase))
  )

  it.scopedLive("that is behind, or empty: a warning, and nothing is changed", () =>
    Effect.gen(function*() {
      const { admin } = yield* TestDatabase
      const tables = Effect.promise(() =>
        admin.query("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
      )
      const empty = about(yield* examine(yield* onDatabase()), "tables")
      expect([empty.level, empty.seen]).toEqual([
        "warning",
        expect.stringMatching(/^migrations not applied yet: 0001_initial/)
      ])
      expect((yield* tables).rows).toEqual([])
      yield* prepare
      yield* Effect.promise(() =>
        admin.query("DELETE FROM startlist_service_migrations WHERE name = '0002_audit_append_only'")
      )
      const behind = about(yield* examine(yield* onDatabase()), "tables")
      expect([behind.level, behind.seen]).toEqual(["warning", "migrations not applied yet: 0002_audit_append_only"])
      expect(behind.advice).toContain("startlist migrate")
    }).pipe(Effect.provide(testDatabase)))

  it.scopedLive("whose user may only read: bad, as readiness says", () =>
    Effect.gen(function*() {
      yield* prepare
      const { url } = yield* TestDatabase
      const given = new URL(Redacted.value(url))
      given.searchParams.set("options", `${given.searchParams.get("options") ?? ""} -c role=pg_read_all_data`)
      const environment = { DATABASE_URL: given.href, OPERATOR_TOKEN, MASTER_KEY: key(1) }
      const { advice, level, seen } = about(yield* examine(yield* configured(environment)), "writes")
      expect([level, seen]).toEqual(["bad", "permission denied for table startlist_migrations"])
      expect(advice).toContain("GRANT")
    }).pipe(Effect.provide(testDatabase)))

  it.scopedLive("that does not confirm writes, such as without its synchronous standby: bad", () =>
    Effect.gen(function*() {
      yield* prepare
      const { admin } = yield* TestDatabase
      const blocker = yield* Effect.promise(() => admin.connect())
      yield* Effect.promise(() => blocker.query("BEGIN; LOCK TABLE startlist_migrations IN SHARE MODE"))
      const { advice, level, seen } = about(yield* examine(yield* onDatabase()), "writes")
      yield* Effect.promise(() => blocker.query("ROLLBACK"))
      blocker.release()
      expect([level, seen]).toEqual(["bad", "the database did not answer in time"])
      expect(advice).toContain("standby")
    }).pipe(Effect.provide(testDatabase)))

  it.scopedLive("of newer, compatible tables: keys are checked all the same", () =>
    Effect.gen(function*() {
      yield* prepare
      const { admin } = yield* TestDatabase
      yield* Effect.promise(() => admin.query("INSERT INTO startlist_migrations (name) VALUES ('9998_future')"))
      const findings = yield* examine(yield* onDatabase(key(2)))
      expect([about(findings, "tables").level, about(findings, "master key").level]).toEqual(["warning", "bad"])
    }).pipe(Effect.provide(testDatabase)))

  it.scopedLive("whose certificate file is missing: bad, with the parameter", () =>
    Effect.gen(function*() {
      const { url } = yield* TestDatabase
      const given = new URL(Redacted.value(url))
      given.searchParams.set("sslmode", "verify-full")
      given.searchParams.set("sslrootcert", "/nonexistent/ca.pem")
      const environment = { DATABASE_URL: given.href, OPERATOR_TOKEN, MASTER_KEY: key(1) }
      const { advice, level, seen } = about(yield* examine(yield* configured(environment)), "database")
      expect([level, seen]).toEqual(["bad", expect.stringMatching(/^sslrootcert: ENOENT.*\/nonexistent\/ca\.pem/)])
      expect(advice).toContain("correct this path")
    }).pipe(Effect.provide(testDatabase)))

  it.scopedLive("that cannot hold every text: bad, with the solution", () =>
    Effect.gen(function*() {
      const { advice, level, seen } = about(yield* examine(yield* onDatabase()), "database")
      expect([level, seen]).toEqual(["bad", expect.stringContaining("has the encoding LATIN1")])
      expect(advice).toContain("pg_dump")
    }).pipe(Effect.provide(layerEmptyWith("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"))))

  it.scopedLive("whose clock differs by up to 1 s is good, by up to 30 s a warning, by more bad", () =>
    Effect.gen(function*() {
      yield* prepare
      const configuration = yield* onDatabase()
      for (const [by, level] of [[-900, "good"], [900, "good"], [5000, "warning"], [-60_000, "bad"]] as const) {
        const clock = about(yield* Effect.withClock(examine(configuration), shifted(by)), "clock")
        expect([by, clock.level]).toEqual([by, level])
        if (level !== "good") expect(clock.advice).toContain("NTP")
      }
    }).pipe(Effect.provide(testDatabase)))

  it.scopedLive(
    "that does not exist, or has no connection left: bad, with appropriate advice, and without the password",
    () =>
      Effect.gen(function*() {
        const { url } = yield* TestDatabase
        const elsewhere = new URL(Redacted.value(url))
        elsewhere.pathname = "/nowhere"
        elsewhere.search = ""
        const full = new URL(Redacted.value(url))
        full.username = `full_${full.pathname.slice(1)}`
        const { admin } = yield* TestDatabase
        yield* Effect.acquireRelease(
          Effect.promise(() => admin.query(`CREATE ROLE ${full.username} LOGIN CONNECTION LIMIT 0`)),
          () => Effect.promise(() => admin.query(`DROP ROLE ${full.username}`))
        )
        const cases = [
          [
            "postgres://me:secret-word@127.0.0.1:1/startlist",
            /^connect ECONNREFUSED 127\.0\.0\.1:1$/,
            "start PostgreSQL"
          ],
          [elsewhere.href, /^database "nowhere" does not exist$/, "create the database"],
          [full.href, /^too many connections for role/, "lower DATABASE_CONNECTIONS"]
        ] as const
        for (const [DATABASE_URL, seen, advice] of cases) {
          const findings = yield* examine(
            yield* configured({ DATABASE_URL, OPERATOR_TOKEN, MASTER_KEY: key(1) })
          )
          expect(about(findings, "database")).toMatchObject({
            level: "bad",
            seen: expect.stringMatching(seen),
            advice: expect.stringContaining(advice)
          })
          expect(JSON.stringify(findings)).not.toContain("secret-word")
        }
      }).pipe(Effect.scoped, Effect.provide(testDatabase))
  )
})

describe("a database that answers", () => {
  const cases = [
    [
      "and takes no writes",
      "default_transaction_read_only=on",
      "database",
      /takes no writes: default_transaction_read_only is on$/
    ],
    [
      "in which the user may not create tables",
      "role=pg_read_all_data",
      "tables",
      /^this database user may not create tables/
    ]
  ] as const
  for (const [name, setting, what, seen] of cases) {
    it.scopedLive(`${name}: bad`, () =>
      Effect.gen(function*() {
        const { url } = yield* TestDatabase
        const given = new URL(Redacted.value(url))
        given.searchParams.set("options", `${given.searchParams.get("options") ?? ""} -c ${setting}`)
        const findings = yield* examine(
          yield* configured({ DATABASE_URL: given.href, OPERATOR_TOKEN, MASTER_KEY: key(1) })
        )
        expect(about(findings, what)).toMatchObject({ level: "bad", seen: expect.stringMatching(seen) })
      }).pipe(Effect.provide(testDatabase)))
  }
})

describe("the address of the service", () => {
  it.scopedLive("that another program has taken: a warning; free, or taken by the service: good", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const server = createServer((_, response) => response.writeHead(404).end())
      const port = yield* Effect.async<number>((resume) => {
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
        })
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const find = Effect.gen(function*() {
        const configuration = yield* configured({ DATA_DIR: join(folder, "new"), PORT: String(port) })
        return about(yield* examine(configuration), "configuration")
      })
      const { advice, level, seen } = yield* find
      expect([level, seen]).toEqual(["warning", `another program listens on http://127.0.0.1:${port}`])
      expect(advice).toContain("PORT")
      server.removeAllListeners("request")
      server.on("request", (_, response) => response.end())
      expect((yield* find).seen).toBe(`the service listens on http://127.0.0.1:${port}`)
      yield* Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
      expect((yield* find).seen).toBe(`listens on http://127.0.0.1:${port}`)
    }))

  it.scopedLive("that this machine does not have: bad", () =>
    Effect.gen(function*() {
      const DATA_DIR = join(yield* temporaryFolder, "new")
      const findings = yield* examine(yield* configured({ DATA_DIR, HOST: "192.0.2.1" }))
      const { advice, level, seen } = about(findings, "configuration")
      expect([level, seen]).toEqual(["bad", expect.stringMatching(/^HOST: cannot listen on 192\.0\.2\.1: /)])
      expect(advice).toContain("HOST")
    }))
})

describe("a data folder", () => {
  it.scopedLive("that cannot be created, or is not a folder: bad", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const file = join(folder, "file")
      writeFileSync(file, "")
      for (const DATA_DIR of [file, join(file, "new", "newer")]) {
        expect(about(yield* examine(yield* configured({ DATA_DIR })), "database")).toMatchObject({
          level: "bad",
          seen: `DATA_DIR: ${file} is not a folder`,
          advice: expect.stringContaining("DATA_DIR")
        })
      }
    }))

  it.scopedLive("in which this user may not write: bad", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      chmodSync(folder, 0o555)
      const asWhom = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
      const doctor = spawnStartlist(["doctor"], { DATA_DIR: join(folder, "new"), PORT: "1" }, undefined, asWhom)
      const { code } = yield* Effect.promise(() => doctor.exit)
      expect([code, doctor.stdout()]).toEqual([1, expect.stringContaining(`may not read and write in ${folder}`)])
    }))

  it.scopedLive("that does not exist yet is fine, and still does not exist afterwards", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const findings = yield* examine(yield* configured({ DATA_DIR: join(folder, "new") }))
      expect(about(findings, "database")).toMatchObject({
        level: "good",
        seen: expect.stringContaining("does not exist yet")
      })
      expect(readdirSync(folder)).toEqual([])
    }))

  it.scopedLive("that has lost its master key: bad, and no other key is created", () =>
    Effect.gen(function*() {
      const DATA_DIR = yield* temporaryFolder
      mkdirSync(join(DATA_DIR, "pgdata"))
      const { advice, level, seen } = about(yield* examine(yield* configured({ DATA_DIR })), "keys")
      expect([level, seen]).toEqual(["bad", `${join(DATA_DIR, "master-key")} is missing`])
      expect(advice).toContain("backup")
      expect(readdirSync(DATA_DIR)).toEqual(["pgdata"])
    }))

  it.scopedLive.skipIf(process.geteuid?.() !== 0)(
    "that belongs to another user: bad, and nothing is changed",
    () =>
      Effect.gen(function*() {
        const DATA_DIR = yield* temporaryFolder
        mkdirSync(join(DATA_DIR, "pgdata"))
        writeFileSync(join(DATA_DIR, "operator-token"), "t".repeat(40))
        writeFileSync(join(DATA_DIR, "master-key"), key(1))
        chownSync(join(DATA_DIR, "pgdata"), 4711, 4711)
        const { advice, level, seen } = about(yield* examine(yield* configured({ DATA_DIR })), "database")
        expect([level, seen]).toEqual(["bad", expect.stringContaining(`${DATA_DIR} belongs to user 4711: run this as`)])
        expect(advice).toContain("as the user of the service")
        expect(readdirSync(join(DATA_DIR, "pgdata"))).toEqual([])
      })
  )

  it.scopedLive("that is damaged, or has a damaged key: bad", () =>
    Effect.gen(function*() {
      const DATA_DIR = yield* temporaryFolder
      mkdirSync(join(DATA_DIR, "pgdata"))
      writeFileSync(join(DATA_DIR, "operator-token"), "t".repeat(40))
      writeFileSync(join(DATA_DIR, "master-key"), key(1))
      writeFileSync(join(DATA_DIR, "pgdata", "PG_VERSION"), "nonsense")
      const damaged = about(yield* examine(yield* configured({ DATA_DIR })), "database")
      expect([damaged.level, damaged.seen]).toEqual(["bad", expect.stringContaining("is damaged")])
      expect(damaged.advice).toContain("backup")
      writeFileSync(join(DATA_DIR, "master-key"), "no key")
      const keys = about(yield* examine(yield* configured({ DATA_DIR })), "keys")
      expect([keys.level, keys.seen]).toEqual(["bad", expect.stringContaining("master-key is damaged")])
    }))
})

describe("settings", () => {
  const warnings = (environment: Readonly<Record<string, string>>) =>
    Effect.flatMap(temporaryFolder, (folder) =>
      Effect.map(
        Effect.flatMap(configured({ DATA_DIR: join(folder, "new"), ...environment }), examine),
        (findings) => findings.filter(({ level }) => level === "warning").map(({ seen }) => seen)
      ))

  it.scopedLive("a public address without AUTH_URL, or with http, is a warning; https and loopback are good", () =>
    Effect.gen(function*() {
      expect(yield* warnings({ HOST: "0.0.0.0" })).toEqual([expect.stringContaining("AUTH_URL is not set")])
      expect(yield* warnings({ HOST: "0.0.0.0", AUTH_URL: "http://auth.example.org" })).toEqual([
        expect.stringContaining("are sent unencrypted")
      ])
      expect(yield* warnings({ HOST: "0.0.0.0", AUTH_URL: "https://auth.example.org" })).toEqual([])
      expect(yield* warnings({ AUTH_URL: "http://[::1]:8080" })).toEqual([])
    }))

  it.scopedLive("callbacks to this machine are a warning if the public address is not on it", () =>
    Effect.gen(function*() {
      const AUTH_URL = "https://auth.example.org"
      for (const CALLBACK_ALLOW of ["127.0.0.0/8", "10.0.0.0/8,::1/128", "0.0.0.0/0"]) {
        expect(yield* warnings({ AUTH_URL, CALLBACK_ALLOW })).toEqual([
          expect.stringContaining("CALLBACK_ALLOW contains ")
        ])
        expect(yield* warnings({ CALLBACK_ALLOW })).toEqual([])
      }
      expect(yield* warnings({ AUTH_URL, CALLBACK_ALLOW: "10.0.0.0/8" })).toEqual([])
      expect(yield* warnings({ AUTH_URL })).toEqual([])
    }))

  it.scopedLive("it lists allowed callback addresses: loopback only if the public address is there", () =>
    Effect.gen(function*() {
      const reach = (environment: Readonly<Record<string, string>>) =>
        Effect.flatMap(temporaryFolder, (DATA_DIR) =>
          Effect.map(
            Effect.flatMap(configured({ DATA_DIR: join(DATA_DIR, "new"), ...environment }), examine),
            (findings) => about(findings, "callbacks").seen
          ))
      expect(yield* reach({})).toContain("127.0.0.0/8")
      expect(yield* reach({ AUTH_URL: "https://auth.example.org" })).not.toContain("127.0.0.0/8")
    }))

  it.scopedLive("a data folder in which others may write is bad", () =>
    Effect.gen(function*() {
      const DATA_DIR = yield* temporaryFolder
      chmodSync(DATA_DIR, 0o777)
      const findings = yield* Effect.flatMap(configured({ DATA_DIR }), examine)
      expect(findings.filter(({ level }) => level === "bad").map(({ seen }) => seen)).toEqual([
        expect.stringContaining("others may write")
      ])
    }))
})

describe("the command", () => {
  it.scopedLive(
    "a wrong setting is a finding with advice on stdout, exit 1, and one line on stderr",
    () =>
      Effect.gen(function*() {
        const DATA_DIR = yield* temporaryFolder
        const wrong = yield* Effect.promise(() => runStartlist(["doctor"], { DATA_DIR, PORT: "eighty" }))
        expect(wrong.code).toBe(1)
        expect(wrong.stdout).toMatch(/^FAIL {2}configuration: PORT: "eighty" is not .*\n {6}correct the variable/)
        expect(wrong.stderr).toMatch(/^startlist: configuration: PORT: [^\n]*\n$/)
      })
  )

  it.scopedLive("warnings are not a failure, and --json has everything", () =>
    Effect.gen(function*() {
      const DATA_DIR = yield* temporaryFolder
      const { code, stderr, stdout } = yield* Effect.promise(() =>
        runStartlist(["doctor", "--json"], { DATA_DIR: join(DATA_DIR, "new"), HOST: "0.0.0.0" })
      )
      expect([code, stderr]).toEqual([0, ""])
      expect(JSON.parse(stdout).findings).toContainEqual({
        what: "configuration",
        level: "warning",
        seen: expect.stringContaining("AUTH_URL"),
        advice: expect.stringContaining("https://")
      })
    }))
})
