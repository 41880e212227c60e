/** Law 13: after an erasure returns, nothing that the person provided is in any table or index. */
import { expect, it } from "@effect/vitest"
import * as InProcessService from "@startlist/test-support/InProcessService"
import {
  athleteStatus,
  authorizeUrl,
  consent,
  obtainTokens,
  redirectUri,
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
import { makeReceiver } from "@startlist/test-support/Receiver"
import { Effect } from "effect"
import type { Pool } from "pg"

/** In every text that the person provides. */
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
  "an erased person is in no table and no answer; the applications are notified",
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
          sessions: expect.arrayContaining([{ started_at: expect.any(String), seen_at: expect.any(String) }]),
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
          expect([actor.type, address === ""]).toEqual([actor.type, actor.type === "user"])
        }
        // The address is free again, for somebody else.
        const next = await operate(service, "POST", "/users", { role: "athlete", email, password: "pass word" })
        expect(next.body.id).not.toBe(athlete.id)
      })
    }),
  60_000
)

it.scopedLive("a disabled user has no session and cannot sign in until enabled", () =>
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
  }), 60_000)
