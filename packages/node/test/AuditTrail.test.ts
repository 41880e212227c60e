/** The audit trail: it contains every operator call, and nobody can change or shorten it, not even with SQL. */
import { describe, expect, it, layer } from "@effect/vitest"
import { Database, Embedded, Postgres, Seal } from "@startlist/postgres"
import {
  DateTime,
  Effect,
  Either,
  Fiber,
  Layer,
  Logger,
  Metric,
  MetricState,
  Option,
  Redacted,
  TestClock
} from "effect"
import { Store } from "@startlist/core"
import { layer as testDatabase, TestDatabase } from "@startlist/test-support/TestDatabase"
import * as AuditLog from "../src/data/AuditLog.ts"
import * as ServiceTables from "../src/data/ServiceTables.ts"
import { eventually } from "@startlist/test-support/Eventually"
import { createUser, operate } from "@startlist/test-support/Operator"
import { within } from "@startlist/test-support/Patience"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { on } from "@startlist/test-support/InProcessService"

const seal = Seal.layerWith({ key: Redacted.make(Buffer.alloc(32, 3).toString("base64")) })
const migrations = [ServiceTables.migrations()]

const embedded = Layer.unwrapScoped(
  Effect.map(
    temporaryFolder,
    (folder) => Layer.provideMerge(AuditLog.layer, Embedded.layerWith({ folder, migrations }))
  )
).pipe(Layer.provide(seal), Layer.orDie)

const postgres = Layer.unwrapEffect(
  Effect.map(TestDatabase, ({ url }) => Layer.provideMerge(AuditLog.layer, Postgres.layer({ url, migrations })))
).pipe(Layer.provide([seal, testDatabase]), Layer.orDie)

const line = (at: number, action: string): AuditLog.NewAuditEntry => ({
  at: DateTime.unsafeMake(at),
  action,
  actor: { type: "operator" },
  subject: { type: "operator" },
  address: "127.0.0.1",
  outcome: "success",
  detail: ""
})

const day = 86_400_000

describe("the database keeps the trail", () => {
  for (const [name, database] of Object.entries({ embedded, postgres })) {
    it.effect(
      `${name}: an entry cannot be changed or removed early, and the table cannot be truncated`,
      () =>
        Effect.gen(function*() {
          const log = yield* AuditLog.AuditLog
          const { prefix: p, query } = yield* Database.Database
          for (const [at, action] of [[0, "old"], [80 * day, "young"], [100 * day, "newest"]] as const) {
            yield* log.append(line(at, action))
          }
          const attempts = [
            `UPDATE ${p}audit SET action = 'nothing'`,
            `UPDATE ${p}audit SET outcome = outcome WHERE action = 'old'`,
            `UPDATE ${p}audit SET address = '192.0.2.1'`,
            `UPDATE ${p}audit SET address = '', detail = 'x'`,
            `UPDATE ${p}audit SET actor = '{}', address = ''`,
            `DELETE FROM ${p}audit WHERE action = 'young'`,
            `DELETE FROM ${p}audit`,
            `TRUNCATE ${p}audit`
          ]
          for (const [i, text] of attempts.entries()) {
            const refused = yield* Effect.either(query({ name: `mischief_${i}`, text }, []))
            expect(Either.isLeft(refused) ? messageOf(refused.left) : "nothing was refused").toContain(
              "the audit is append-only"
            )
          }
          const actions = Effect.map(log.list({ ...AuditLog.everything, limit: 10 }), (lines) =>
            lines.map(({ action }) => action))
          expect(yield* actions).toEqual(["newest", "young", "old"])
          expect(yield* log.purge(DateTime.unsafeMake(50 * day), 10)).toBe(1)
          expect(yield* actions).toEqual(["newest", "young"])
        }).pipe(Effect.provide(database))
    )
  }
})

/** The message of the driver. */
const messageOf = (error: unknown): string => {
  let inner = error
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause
  return inner instanceof Error ? inner.message : String(inner)
}

layer(InProcessService.layer())("every call of the operator", (it) => {
  it.effect(
    "is recorded with its path and outcome, without its query: reads, refusals, calls without a token",
    on(async (service) => {
      const user = await createUser(service, "athlete")
      await operate(service, "GET", "/users?email=somebody@example.test")
      await operate(service, "GET", `/users/${user.id}`)
      await operate(service, "GET", "/users/somebody@example.test")
      await operate(service, "POST", "/users", "{")
      await operate(service, "PUT", "/applications", {})
      await operate(service, "GET", "/applications/999999")
      await operate({ ...service, operatorToken: "wrong" }, "GET", "/audit?after=5")
      const { body } = await operate(service, "GET", "/audit?limit=8")
      const seen = body.entries.map(({ actor, address, detail, outcome, subject }: Record<string, unknown>) => ({
        actor,
        address,
        detail,
        outcome,
        subject
      }))
      const operator = { type: "operator" }
      const entry = (detail: string, outcome: string, subject: object = operator, actor: object = operator) => ({
        actor,
        address: "127.0.0.1",
        detail,
        outcome,
        subject
      })
      expect(seen).toEqual([
        entry("GET /operator/v1/audit 401", "refused", operator, { type: "unknown" }),
        entry("GET /operator/v1/applications/999999 404", "refused", { type: "application", id: 999_999 }),
        entry("PUT /operator/v1/applications 405", "refused"),
        entry("POST /operator/v1/users 400", "refused"),
        entry("GET /operator/v1/users/… 400", "refused"),
        entry(`GET /operator/v1/users/${user.id} 200`, "success", { type: "user", id: user.id }),
        entry("GET /operator/v1/users 200", "success"),
        entry("POST /operator/v1/users 201", "success")
      ])
      expect(JSON.stringify(body)).not.toContain("somebody")
      expect(JSON.stringify(body)).not.toContain("wrong")
    })
  )

  it.effect(
    "calls without the token get 429 after 30 in a minute, are then not recorded, and lock nobody out",
    on(async (service) => {
      const stranger = { ...service, operatorToken: "wrong" }
      const statuses: Array<number> = []
      for (let i = 0; i < 40; i++) statuses.push((await operate(stranger, "GET", "/stranger")).status)
      expect(new Set(statuses)).toEqual(new Set([401, 429]))
      const { headers } = await operate(stranger, "GET", "/stranger")
      expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
      const { body, status } = await operate(service, "GET", "/audit?limit=100")
      expect(status).toBe(200)
      const lines = body.entries.filter(({ action }: { action: string }) => action === "operator_authentication_failed")
      expect(lines).toHaveLength(30)
    })
  )
})

layer(InProcessService.layer())("a long trail", (it) => {
  it.effect(
    "is not read completely to list, export or erase one person",
    on(async (service) => {
      const { admin } = service.database
      const user = await createUser(service, "athlete")
      await admin.query(`INSERT INTO startlist_audit (at, action, actor, subject, address, detail)
        SELECT n, 'login', json_build_object('type', 'user', 'id', 1000000 + n % 5000),
          json_build_object('type', 'user', 'id', 1000000 + n % 5000), '192.0.2.1', ''
        FROM generate_series(1, 100000) n`)
      await admin.query("ANALYZE startlist_audit")
      const scans = async () => {
        const { rows } = await admin.query(`SELECT t.seq_scan, i.idx_scan FROM pg_stat_user_tables t
          JOIN pg_stat_user_indexes i USING (relid) WHERE indexrelname = 'startlist_audit_subject'`)
        return { whole: Number(rows[0].seq_scan), byIndex: Number(rows[0].idx_scan) }
      }

      const before = await scans()
      const listed = await operate(service, "GET", "/audit?user_id=1000007&limit=50")
      expect(listed.body.entries).toHaveLength(20)
      expect((await operate(service, "GET", `/users/${user.id}/export`)).status).toBe(200)
      expect((await operate(service, "DELETE", `/users/${user.id}`)).status).toBe(204)
      // A session reports what it did when it is idle, at most once a second.
      await eventually(scans, ({ byIndex }) => byIndex >= before.byIndex + 3)
      expect((await scans()).whole).toBe(before.whole)
    })
  )
})

layer(InProcessService.layer())("an operator call and its audit entry", (it) => {
  it.effect(
    "are stored together: a call whose entry cannot be stored is rolled back and answered with 503",
    on(async (service) => {
      const { admin } = service.database
      const count = async () => (await admin.query("SELECT count(*) FROM startlist_users")).rows[0].count
      const before = await count()
      const body = { role: "athlete", email: "not-kept@example.test", password: "a long password" }
      await admin.query("ALTER TABLE startlist_audit ADD CONSTRAINT full_up CHECK (detail = '') NOT VALID")
      expect((await operate(service, "POST", "/users", body)).status).toBe(503)
      expect((await operate(service, "GET", "/users")).status).toBe(200)
      await admin.query("ALTER TABLE startlist_audit DROP CONSTRAINT full_up")
      expect(await count()).toBe(before)
      expect((await operate(service, "POST", "/users", body)).status).toBe(201)
    })
  )

  it.effect(
    "end within five seconds; an unfinished change does not happen later",
    on(async (service) => {
      const blocker = await service.database.admin.connect()
      await blocker.query("BEGIN; LOCK TABLE startlist_users IN ACCESS EXCLUSIVE MODE")
      const body = { role: "athlete", email: "too-late@example.test", password: "a long password" }
      const calls = [operate(service, "POST", "/users", body), operate(service, "GET", "/users")]
      const answers = await within(5000, Promise.all(calls))
      await blocker.query("COMMIT")
      blocker.release()
      expect(answers.map(({ status }) => status)).toEqual([503, 503])
      expect((await operate(service, "GET", "/users?email=too-late@example.test")).body.users).toEqual([])
    })
  )
})

layer(InProcessService.layer())("a refused request and its audit entry", (it) => {
  it.effect(
    "end within five seconds together, if the database answers neither",
    on(async (service) => {
      const owner = await createUser(service, "platform")
      const made = await operate(service, "POST", "/applications", {
        name: "Slow",
        owner_id: owner.id,
        redirect_uris: ["http://localhost:3000/callback"]
      })
      const blocker = await service.database.admin.connect()
      await blocker.query(
        "BEGIN; LOCK TABLE startlist_applications, startlist_grants, startlist_audit IN ACCESS EXCLUSIVE MODE"
      )
      const { client_id, client_secret } = made.body
      const body = new URLSearchParams({ client_id, client_secret, token: "sl_rt_unknown" })
      const answer = await within(5000, fetch(`${service.url}/oauth/revoke`, { method: "POST", body }))
      await blocker.query("COMMIT")
      blocker.release()
      expect([answer.status, answer.headers.get("retry-after"), await answer.text()]).toEqual([503, "5", "{}"])
    })
  )
})

const lost = Effect.sync(() =>
  Metric.unsafeSnapshot().flatMap(({ metricKey, metricState }) =>
    metricKey.name === "startlist_audit_lines_lost_total" && MetricState.isCounterState(metricState)
      ? [Number(metricState.count)]
      : []
  )
)

it.scoped("an entry that the database does not take is logged completely and counted", () =>
  Effect.gen(function*() {
    const before = yield* lost
    const logged: Array<unknown> = []
    const logger = Logger.make(({ annotations }) => void logged.push(Object.fromEntries(annotations)))
    const record = yield* AuditLog.makeRecord(() => new Store.StoreError({ cause: new Error("away") }))
    const { at: _at, ...rest } = { ...line(0, "operator_call"), detail: "POST /operator/v1/users 503" }
    yield* record({ ...line(0, "operator_call"), ...rest }).pipe(
      Effect.provide(Logger.replace(Logger.defaultLogger, logger))
    )
    expect(logged).toEqual([rest])
    expect([before.length, yield* lost]).toEqual([1, before.map((count) => count + 1)])
  }))

describe("entries that strangers cause", () => {
  /** Records entries in virtual time, and returns those that were stored. */
  const makeRecorder = Effect.gen(function*() {
    const stored: Array<AuditLog.NewAuditEntry> = []
    const record = yield* AuditLog.makeRecord((line) => Effect.sync(() => void stored.push(line)))
    return { record, stored }
  })
  const now = (action: string) => Effect.map(DateTime.now, ({ epochMillis }) => line(epochMillis, action))

  it.scoped("6000 wrong secrets in an hour are a hundred entries, and one per minute that counts the others", () =>
    Effect.gen(function*() {
      const { record, stored } = yield* makeRecorder
      for (let minute = 0; minute < 60; minute++) {
        yield* Effect.replicateEffect(Effect.flatMap(now("client_authentication_failed"), record), 100, {
          discard: true
        })
        yield* TestClock.adjust("1 minute")
      }
      const more = stored.flatMap(({ detail }) => /^(\d+) more$/.exec(detail)?.[1] ?? [])
      expect(stored.length - more.length).toBe(AuditLog.maxByStrangers)
      expect(more.length).toBeLessThanOrEqual(60)
      expect(more.map(Number).reduce((sum, count) => sum + count, 0)).toBe(6000 - AuditLog.maxByStrangers)
      yield* Effect.flatMap(now("client_authentication_failed"), record)
      expect(stored.at(-1)?.detail).not.toMatch(/more$/)
    }))

  it.scoped("a flood of one action hides no other, and nothing that needs a secret", () =>
    Effect.gen(function*() {
      const { record, stored } = yield* makeRecorder
      const all = (action: string) =>
        Effect.replicateEffect(Effect.flatMap(now(action), record), 200, { discard: true })
      yield* Effect.forEach(["login_failed", "operator_call", "consent"], all)
      yield* Effect.flatMap(now("operator_authentication_failed"), record)
      const count = (action: string) => stored.filter((entry) => entry.action === action).length
      expect(["login_failed", "operator_call", "consent", "operator_authentication_failed"].map(count))
        .toEqual([AuditLog.maxByStrangers, 200, 200, 1])
    }))

  it.scoped("after the clock is set back by hours, an hour lasts no longer than before", () =>
    Effect.gen(function*() {
      const { record, stored } = yield* makeRecorder
      yield* TestClock.setTime(Date.UTC(2026, 0, 2))
      yield* Effect.replicateEffect(Effect.flatMap(now("login_failed"), record), 100, { discard: true })
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      yield* Effect.flatMap(now("login_failed"), record)
      expect(stored).toHaveLength(AuditLog.maxByStrangers + 1)
    }))

  it.effect("the number is stored also if the service stops before the minute is over", () =>
    Effect.gen(function*() {
      const stored = yield* Effect.scoped(Effect.gen(function*() {
        const { record, stored } = yield* makeRecorder
        for (let i = 0; i < 150; i++) yield* Effect.flatMap(now("login_failed"), record)
        return stored
      }))
      expect(stored.at(-1)?.detail).toBe("50 more")
    }))
})

it.scoped("a request waits for less than a second for an entry that a slow database takes later", () =>
  Effect.gen(function*() {
    const stored: Array<string> = []
    const record = yield* AuditLog.makeRecord(({ action }) =>
      Effect.delay(Effect.sync(() => void stored.push(action)), "4 seconds")
    )
    const waiting = yield* Effect.fork(Effect.uninterruptible(record(line(0, "consent"))))
    yield* TestClock.adjust("1 second")
    expect([yield* Effect.map(Fiber.poll(waiting), Option.isSome), stored]).toEqual([true, []])
    yield* TestClock.adjust("3 seconds")
    expect(stored).toEqual(["consent"])
  }))
