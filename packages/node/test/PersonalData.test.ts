/** Law 13: after an erasure, no table or index contains anything that the person provided. */
import { expect, it } from "@effect/vitest"
import * as InProcessService from "@startlist/test-support/InProcessService"
import {
  athleteStatus,
  authorizeUrl,
  consent,
  obtainTokens,
  redirectUri,
  refresh,
  subscribe
} from "@startlist/test-support/Consent"
import {
  changeRegistration,
  createApplication,
  createRegistration,
  createUser,
  operate,
  type Person
} from "@startlist/test-support/Operator"
import { eventually } from "@startlist/test-support/Eventually"
import { type Behaviour, makeReceiver } from "@startlist/test-support/Receiver"
import { Effect } from "effect"
import type { Pool } from "pg"
import { vi } from "vitest"

/** Part of every text that the person provides. */
const mark = "Quetzalcoatlus"

/** Every row of every table and, in their expressions, of every index, as text. */
const dump = async (pool: Pool): Promise<string> => {
  const { rows: tables } = await pool.query(
    "SELECT oid::regclass::text AS name FROM pg_class WHERE relkind IN ('r', 'm') AND relnamespace = current_schema()::regnamespace"
  )
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await pool.query(`SELECT t::text AS text FROM ${name} t`)
      return rows.map(({ text }) => `${name} ${text}`).join("\n")
    })
  )
  return texts.join("\n")
}

it.scopedLive(
  "an erased person is in no table and no response; the applications are notified",
  () =>
    Effect.gen(function*() {
      const service = yield* InProcessService.make({ DELIVERY_DELAYS: "100ms,60s" })
      const [good, bad] = [yield* makeReceiver, yield* makeReceiver]
      bad.answerWith(500)
      const pool = service.database.admin
      yield* Effect.promise(async () => {
        const platform = await createUser(service, "platform")
        const other = await createUser(service, "athlete")
        const email = `${mark}@Example.test`
        const names = { first_name: `${mark} I`, last_name: `${mark} II` }
        const made = await operate(service, "POST", "/users", {
          role: "athlete",
          email,
          password: `${mark}!`,
          ...names
        })
        const athlete: Person = { ...made.body, password: `${mark}!` }
        const clients = [
          await createApplication(service, platform, [redirectUri]),
          await createApplication(service, platform, [redirectUri])
        ] as const
        for (const [place, receiver] of [good, bad].entries()) {
          const client = clients[place] ?? clients[0]
          const { access_token } = await obtainTokens(service, client, platform)
          expect((await subscribe(service, access_token, receiver.url)).status).toBe(201)
        }
        const tokens = await obtainTokens(service, clients[0], athlete)
        await obtainTokens(service, clients[1], athlete)
        await obtainTokens(service, clients[0], other)
        await expect(consent(authorizeUrl(service, clients[0]), { ...athlete, password: "wrong" })).rejects.toThrow()
        const registration = await createRegistration(service, { athlete_id: athlete.id, comment: mark })
        const kept = await createRegistration(service, { athlete_id: other.id, comment: "kept" })
        for (let round = 0; round < 3; round++) {
          await changeRegistration(service, registration, { comment: `${mark} ${round}`, reasons: [mark] })
        }
        await good.posts(3)
        expect((await dump(pool)).split(mark).length).toBeGreaterThan(10)
        const before = await operate(service, "GET", `/users/${athlete.id}/export`)
        expect(before.body).toMatchObject({
          user: { email },
          sessions: expect.arrayContaining([
            { device: "", network: "127.0.0.1", started_at: expect.any(String), seen_at: expect.any(String) }
          ]),
          grants: [{ client_id: clients[0].client_id }, { client_id: clients[1].client_id }],
          registrations: [{ id: registration }]
        })
        expect(before.body.audit.length).toBeGreaterThan(2)

        expect((await operate(service, "DELETE", `/users/${athlete.id}`)).status).toBe(204)
        expect((await dump(pool)).toLowerCase()).not.toContain(mark.toLowerCase())
        expect(await dump(pool)).toContain("kept")
        expect(await athleteStatus(service, tokens.access_token)).toBe(401)
        for (const path of [`/users/${athlete.id}`, `/users/${athlete.id}/export`]) {
          expect((await operate(service, "GET", path)).status).toBe(404)
        }
        expect((await operate(service, "DELETE", `/users/${athlete.id}`)).status).toBe(404)
        for (
          const path of ["/users", "/deliveries", "/audit", `/registrations/${registration}`, `/registrations/${kept}`]
        ) {
          expect(JSON.stringify((await operate(service, "GET", path)).body)).not.toContain(mark)
        }
        await good.until(() => good.received.some(({ body }) => body.includes("\"aspect_type\":\"deleted\"")))
        const { entries } = (await operate(service, "GET", `/audit?user_id=${athlete.id}`)).body
        for (const { actor, address } of entries) {
          expect([actor.type, address === ""]).toEqual([actor.type, actor.type !== "operator"])
        }
        // Another user can have the address.
        const next = await operate(service, "POST", "/users", { role: "athlete", email, password: "pass word" })
        expect(next.body.id).not.toBe(athlete.id)
      })
    })
)

it.scopedLive("an audit entry that comes during or after the erasure of its person has no address", () =>
  Effect.gen(function*() {
    const service = yield* InProcessService.make()
    const pool = service.database.admin
    yield* Effect.promise(async () => {
      const [athlete, other] = [await createUser(service, "athlete"), await createUser(service, "athlete")]
      const add = (to: Pick<Pool, "query">, id: number) =>
        to.query(
          `INSERT INTO startlist_audit (at, action, actor, subject, address, detail)
            VALUES (1, 'late', $1::json, '{"type":"unknown"}', '192.0.2.1', '')`,
          [{ type: "user", id }]
        )
      const addresses = async () => {
        const { rows } = await pool.query("SELECT address FROM startlist_audit WHERE action = 'late' ORDER BY id")
        return rows.map(({ address }) => address)
      }
      const waiting = (lock: string) =>
        eventually(
          () => pool.query("SELECT FROM pg_locks WHERE NOT granted AND mode = $1", [lock]),
          ({ rowCount }) => rowCount === 1
        )
      const [early, late] = [await pool.connect(), await pool.connect()]
      await early.query("BEGIN")
      await add(early, athlete.id)
      const erasing = operate(service, "DELETE", `/users/${athlete.id}`)
      await waiting("ExclusiveLock")
      const adding = add(late, athlete.id)
      await waiting("ShareLock")
      await early.query("COMMIT")
      await adding
      expect((await erasing).status).toBe(204)
      await add(pool, athlete.id)
      await add(pool, other.id)
      expect(await addresses()).toEqual(["", "", "", "192.0.2.1"])
      early.release()
      late.release()
    })
  }))

/** A receiver that fails, and repeats the request in its response. */
const echo: Behaviour = ({ body }, response) => void response.writeHead(500, { "content-type": "text/plain" }).end(body)

/** All responses of the operator API. */
const told = async (service: InProcessService.Service): Promise<string> => {
  const paths = ["/users", "/applications", "/subscriptions", "/deliveries?limit=500", "/audit?limit=500"]
  const answers = await Promise.all(paths.map((path) => operate(service, "GET", path)))
  return JSON.stringify(answers.map(({ body }) => body)).toLowerCase()
}

it.scopedLive(
  "a person who is erased under load is not in the database, the log or a response",
  () =>
    Effect.gen(function*() {
      const service = yield* InProcessService.make({
        DELIVERY_DELAYS: "20ms,20ms",
        LOG_FORMAT: "json",
        LOG_LEVEL: "trace"
      })
      const logged: Array<string> = []
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.spyOn(console, "log").mockImplementation((line) => void logged.push(String(line)))),
        (spy) => Effect.sync(() => spy.mockRestore())
      )
      const receiver = yield* makeReceiver
      receiver.behave("/callback", echo)
      yield* Effect.promise(async () => {
        const platform = await createUser(service, "platform")
        const client = await createApplication(service, platform, [redirectUri])
        const owner = await obtainTokens(service, client, platform)
        expect((await subscribe(service, owner.access_token, receiver.url)).status).toBe(201)

        const round = async (place: number) => {
          const person = { role: "athlete", email: `${mark}-${place}@example.test`, password: `${mark} password` }
          const made = await operate(service, "POST", "/users", { ...person, first_name: mark, last_name: mark })
          const athlete: Person = { ...made.body, password: person.password }
          const tokens = await obtainTokens(service, client, athlete)
          const registration = await createRegistration(service, { athlete_id: athlete.id, comment: mark })
          const change = (comment: string) => changeRegistration(service, registration, { comment })
          const deliveries = async () => {
            const { body } = await operate(service, "GET", "/deliveries?limit=100")
            return body.deliveries.filter(({ object_id }: { object_id: number }) => object_id === registration)
          }
          await change(`${mark} 1`)
          await eventually(deliveries, (found) => found.some(({ state }: { state: string }) => state === "exhausted"))
          await change(`${mark} 2`)

          let [isOver, requests] = [false, 0]
          let token = tokens.refresh_token
          const repeat = async (request: () => Promise<unknown>) => {
            for (; !isOver; requests++) await request().catch(() => {})
          }
          const exhausted = (await deliveries()).find(({ state }: { state: string }) => state === "exhausted")
          const running = [
            repeat(() => consent(authorizeUrl(service, client), { ...athlete, password: "wrong" })),
            repeat(() => obtainTokens(service, client, athlete)),
            repeat(async () => {
              token = (await (await refresh(service, client, token)).json()).refresh_token ?? token
            }),
            repeat(() => operate(service, "POST", `/deliveries/${exhausted.id}/redeliver`)),
            repeat(() => createRegistration(service, { athlete_id: athlete.id, comment: mark }))
          ]
          await eventually(async () => requests, (count) => count >= 7 * place)
          logged.length = 0
          const erased = await eventually(
            () => operate(service, "DELETE", `/users/${athlete.id}`),
            ({ status }) => status !== 503
          )
          expect(erased.status).toBe(204)
          isOver = true
          await Promise.all(running)
          await eventually(deliveries, (found) => found.every(({ state }: { state: string }) => state !== "pending"))
          const kept = (await dump(service.database.admin)).toLowerCase()
          expect(kept.split("\n").filter((line) => line.includes(mark.toLowerCase()))).toEqual([])
          expect(await told(service)).not.toContain(mark.toLowerCase())
          expect(logged.length).toBeGreaterThan(0)
          expect(logged.filter((line) => line.includes(mark))).toEqual([])
          const active = await service.database.admin.query(
            "SELECT count(*) FROM startlist_grants WHERE user_id = $1 AND active",
            [athlete.id]
          )
          expect(active.rows[0].count).toBe("0")
        }
        for (const place of [0, 2]) await round(place)
      })
    })
)

it.scopedLive(
  "an owner of applications can be erased only after they ended or have another owner",
  () =>
    Effect.gen(function*() {
      const service = yield* InProcessService.make()
      yield* Effect.promise(async () => {
        const [leaving, next] = [await createUser(service, "platform"), await createUser(service, "platform")]
        const [ended, given] = [
          await createApplication(service, leaving, [redirectUri]),
          await createApplication(service, leaving, [redirectUri])
        ]
        const erase = () => operate(service, "DELETE", `/users/${leaving.id}`)
        const refused = await erase()
        expect([refused.status, refused.body.errors[0].code]).toEqual([409, "owns_applications"])
        expect((await operate(service, "DELETE", `/applications/${ended.client_id}`)).status).toBe(204)
        const athlete = await createUser(service, "athlete")
        const give = (owner: Person) =>
          operate(service, "PATCH", `/applications/${given.client_id}`, { owner_id: owner.id })
        expect((await give(athlete)).status).toBe(422)
        expect((await give(next)).body.owner_id).toBe(next.id)
        expect((await erase()).status).toBe(204)
        expect(await dump(service.database.admin)).not.toContain(leaving.email)
      })
    })
)

it.scopedLive("a disabled user has no session and cannot sign in", () =>
  Effect.gen(function*() {
    const service = yield* InProcessService.make()
    yield* Effect.promise(async () => {
      const platform = await createUser(service, "platform")
      const athlete = await createUser(service, "athlete")
      const client = await createApplication(service, platform, [redirectUri])
      const tokens = await obtainTokens(service, client, athlete)
      const disabled = await operate(service, "POST", `/users/${athlete.id}/disable`)
      expect(disabled.body).toMatchObject({ id: athlete.id, disabled: true })
      expect((await operate(service, "GET", `/users/${athlete.id}/export`)).body.sessions).toEqual([])
      await expect(obtainTokens(service, client, athlete)).rejects.toThrow()
      expect(await athleteStatus(service, tokens.access_token)).toBe(200)
      const listed = await operate(service, "GET", "/users?limit=1")
      expect(listed.body).toMatchObject({ users: [{ id: athlete.id, disabled: true }], next: athlete.id })
      expect((await operate(service, "POST", `/users/${athlete.id}/enable`)).body.disabled).toBe(false)
      await obtainTokens(service, client, athlete)
      expect((await operate(service, "DELETE", `/users/${athlete.id}/sessions`)).status).toBe(204)
      expect((await operate(service, "GET", `/users/${athlete.id}/export`)).body.sessions).toEqual([])
    })
  }))
