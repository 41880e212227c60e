/** Two services on one PostgreSQL have the same state. */
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { connect, createServer } from "node:net"
import type { Pool } from "pg"
import { Browser } from "@startlist/test-support/Browser"
import {
  athleteStatus,
  authorizeUrl,
  consent,
  exchange,
  obtainTokens,
  refresh,
  revealSigningSecret,
  revoke,
  subscribe
} from "@startlist/test-support/Consent"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import {
  changeRegistration,
  createApplication,
  createRegistration,
  createUser,
  operate
} from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import type { Service } from "@startlist/test-support/ServiceProcess"

class TwoNodes extends Context.Tag("@startlist/node/test/TwoNodes")<TwoNodes, {
  readonly one: Service
  readonly other: Service
  /** Direct access to their database. */
  readonly admin: Pool
}>() {}

/** Both start at the same moment on an empty database. */
const nodes = Layer.scoped(
  TwoNodes,
  Effect.gen(function*() {
    const { admin, url } = yield* makeDatabase
    const environment = installation(Redacted.value(url))
    const [one, other] = yield* Effect.all([makeNode(environment), makeNode(environment)], { concurrency: 2 })
    return { one, other, admin }
  })
)

const on = (test: (one: Service, other: Service) => Promise<void>) => () =>
  Effect.flatMap(TwoNodes, ({ one, other }) => Effect.promise(() => test(one, other)))

const prepare = async (service: Service) => {
  const platform = await createUser(service, "platform")
  const athlete = await createUser(service, "athlete")
  return { platform, athlete, client: await createApplication(service, platform) }
}

/** Sends this number of parallel requests, to both in turn. */
const inParallel = <A>(count: number, one: Service, other: Service, ask: (service: Service) => Promise<A>) =>
  Promise.all(Array.from({ length: count }, (_, i) => ask(i % 2 === 0 ? one : other)))

/** A proxy to a service that loses its responses. `stop` returns what was lost. */
const losingAnswers = async ({ url }: Service) => {
  let lost = ""
  const server = createServer((client) => {
    const { hostname, port } = new URL(url)
    const service = connect(Number(port), hostname)
    client.pipe(service)
    client.on("error", () => service.destroy())
    service.on("data", (bytes) => {
      lost += bytes.toString()
      client.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const stop = async () => {
    await new Promise((resolve) => server.close(resolve))
    return lost
  }
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, stop }
}

const count = <A>(values: ReadonlyArray<A>, value: A): number => values.filter((other) => other === value).length

layer(nodes)("two nodes", (it) => {
  it.effect(
    "50 parallel refreshes with one token: one succeeds with a valid pair, 49 are refused with 401",
    on(async (one, other) => {
      const { athlete, client } = await prepare(one)
      const { refresh_token } = await obtainTokens(one, client, athlete)
      const answers = await inParallel(50, one, other, (service) => refresh(service, client, refresh_token))
      const statuses = answers.map(({ status }) => status)
      expect([count(statuses, 200), count(statuses, 401)]).toEqual([1, 49])
      const bodies = await Promise.all(answers.map((answer) => answer.json()))
      expect(count(bodies.map(({ error }) => error), "invalid_grant")).toBe(49)
      const winner = bodies.find((body) => "refresh_token" in body)
      expect(await athleteStatus(other, winner.access_token)).toBe(200)
      expect((await refresh(other, client, refresh_token)).status).toBe(401)
      const next = await refresh(other, client, winner.refresh_token)
      expect(next.status).toBe(200)
      expect((await refresh(one, client, winner.refresh_token)).status).toBe(401)
      expect((await refresh(one, client, (await next.json()).refresh_token)).status).toBe(200)
    })
  )

  it.effect(
    "50 parallel refreshes with one token and one Idempotency-Key: all get the same response",
    on(async (one, other) => {
      const { athlete, client } = await prepare(one)
      const { refresh_token } = await obtainTokens(one, client, athlete)
      const key = { "idempotency-key": "one" }
      const answers = await inParallel(50, one, other, (service) => refresh(service, client, refresh_token, key))
      const bodies = await Promise.all(answers.map((answer) => answer.text()))
      expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200))
      expect(bodies).toEqual(Array(50).fill(bodies[0]))
    })
  )

  it.effect(
    "the limit of an application holds for both together, from the answer to its change on",
    on(async (one, other) => {
      const { athlete, client } = await prepare(one)
      const { access_token } = await obtainTokens(one, client, athlete)
      const limit = (requests_per_minute: number | null) =>
        operate(one, "POST", `/applications/${client.client_id}/limit`, { requests_per_minute })
      const statuses = () => inParallel(20, one, other, (service) => athleteStatus(service, access_token))
      await limit(7)
      const limited = await statuses()
      expect([count(limited, 200), count(limited, 429)]).toEqual([7, 13])
      await limit(null)
      expect(count(await statuses(), 200)).toBe(20)
    })
  )

  it.effect(
    "a lost response is repeated by the other node, byte for byte",
    on(async (one, other) => {
      const { athlete, client } = await prepare(one)
      const { refresh_token } = await obtainTokens(one, client, athlete)
      const key = { "idempotency-key": "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"" }
      const losing = await losingAnswers(one)
      await expect(refresh(losing, client, refresh_token, key)).rejects.toThrow()
      const lost = await losing.stop()
      const again = await refresh(other, client, refresh_token, key)
      expect(again.status).toBe(200)
      expect(lost.endsWith(`\r\n\r\n${await again.text()}`)).toBe(true)
      expect((await refresh(other, client, refresh_token)).status).toBe(401)
    })
  )

  it.effect(
    "50 parallel exchanges of one code: one succeeds, and its tokens are not affected by the 49 others",
    on(async (one, other) => {
      const { athlete, client } = await prepare(one)
      const code = (await consent(authorizeUrl(one, client), athlete)).searchParams.get("code") ?? ""
      const answers = await inParallel(50, one, other, (service) => exchange(service, client, code))
      const statuses = answers.map(({ status }) => status)
      expect([count(statuses, 200), count(statuses, 400)]).toEqual([1, 49])
      const bodies = await Promise.all(answers.map((answer) => answer.json()))
      expect(count(bodies.map(({ error }) => error), "invalid_grant")).toBe(49)
      const winner = bodies.find((body) => "access_token" in body)
      expect(await athleteStatus(one, winner.access_token)).toBe(200)
      expect((await refresh(other, client, winner.refresh_token)).status).toBe(200)
    })
  )

  it.effect(
    "a refresh that races a revocation never leaves a live token, in 200 rounds",
    on(async (one, other) => {
      const { athlete, client } = await prepare(one)
      const browser = new Browser()
      let refreshed = 0
      for (let round = 0; round < 200; round++) {
        const back = await consent(authorizeUrl(one, client), athlete, "allow", browser)
        const tokens = await (await exchange(other, client, back.searchParams.get("code") ?? "")).json()
        const [answer, revoked] = await Promise.all([
          refresh(round % 2 === 0 ? one : other, client, tokens.refresh_token),
          revoke(round % 2 === 0 ? other : one, client, tokens.access_token)
        ])
        expect(revoked.status).toBe(200)
        expect([200, 401, 400]).toContain(answer.status)
        const fresh = await answer.json()
        if (answer.status === 200) {
          refreshed++
          expect(await athleteStatus(one, fresh.access_token)).toBe(401)
          expect((await refresh(other, client, fresh.refresh_token)).status).toBe(401)
        }
        expect(await athleteStatus(other, tokens.access_token)).toBe(401)
        expect((await refresh(one, client, tokens.refresh_token)).status).toBe(401)
      }
      expect(refreshed).toBeGreaterThan(0)
      expect(refreshed).toBeLessThan(200)
    })
  )

  it.effect(
    "revocations, changes and sign-ins on one node are immediately visible on the other",
    on(async (one, other) => {
      const { athlete, client } = await prepare(one)
      const browser = new Browser()
      const back = await consent(authorizeUrl(one, client), athlete, "allow", browser)
      const tokens = await (await exchange(other, client, back.searchParams.get("code") ?? "")).json()
      expect(await athleteStatus(one, tokens.access_token)).toBe(200)
      await operate(other, "POST", `/users/${athlete.id}/revocations`, { client_id: client.client_id })
      expect(await athleteStatus(one, tokens.access_token)).toBe(401)
      const page = await browser.request(`${other.url}/account/applications`)
      expect(page.status).toBe(200)
    })
  )

  it.scoped(
    "two parallel subscriptions: one is created, and each event is delivered once",
    () =>
      Effect.gen(function*() {
        const { one, other } = yield* TwoNodes
        const receiver = yield* makeReceiver
        yield* Effect.promise(async () => {
          for (let round = 0; round < 10; round++) {
            const { athlete, client, platform } = await prepare(one)
            const { access_token } = await obtainTokens(one, client, platform)
            const answers = await inParallel(2, one, other, (service) => subscribe(service, access_token, receiver.url))
            const [created, refused] = answers.map(({ status }) => status).sort()
            expect(created).toBe(201)
            // While the first one is validated, an application may not begin another validation.
            expect([409, 429]).toContain(refused)
            await obtainTokens(other, client, athlete)
            const registration = await createRegistration(one, { athlete_id: athlete.id })
            const statuses = await Promise.all(
              ["a", "b"].map((registration_status, i) =>
                changeRegistration(i === 0 ? one : other, registration, { registration_status })
              )
            )
            expect(statuses).toEqual([200, 200])
            await receiver.posts(2 * (round + 1))
          }
          const ids = (await receiver.posts(20)).map(({ headers }) => headers["webhook-id"])
          expect(new Set(ids).size).toBe(20)
          expect(ids).toHaveLength(20)
        })
      })
  )

  it.scoped("no table contains a token, code, secret, session or password in plain text", () =>
    Effect.gen(function*() {
      const { admin, one } = yield* TwoNodes
      const receiver = yield* makeReceiver
      yield* Effect.promise(async () => {
        const { athlete, client, platform } = await prepare(one)
        const browser = new Browser()
        const back = await consent(authorizeUrl(one, client, { state: "s" }), athlete, "allow", browser)
        const code = back.searchParams.get("code") ?? ""
        const tokens = await (await exchange(one, client, code)).json()
        const fresh = await (await refresh(one, client, tokens.refresh_token)).json()
        const owner = await obtainTokens(one, client, platform)
        expect((await subscribe(one, owner.access_token, receiver.url)).status).toBe(201)
        const rotated = (await operate(one, "POST", `/applications/${client.client_id}/secrets`)).body.client_secret
        const unused = (await consent(authorizeUrl(one, client), athlete)).searchParams.get("code") ?? ""
        const signing = await revealSigningSecret(one, client, platform)

        const { rows: tables } = await admin.query<{ readonly name: string }>(
          "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()"
        )
        expect(tables.length).toBeGreaterThan(10)
        let dump = ""
        for (const { name } of tables) {
          const { rows } = await admin.query<{ readonly row: string }>(`SELECT t::text AS row FROM "${name}" t`)
          dump += `${name}\n${rows.map(({ row }) => row).join("\n")}\n`
        }
        expect(dump).toContain(athlete.email)
        const sessions = (browser.jar.toJSON()?.cookies ?? []).flatMap(({ value }) =>
          value === undefined ? [] : [value]
        )
        expect(sessions.length).toBeGreaterThan(0)
        const codes = [code, unused]
        const issued = [tokens, fresh, owner].flatMap((
          { access_token, refresh_token }
        ) => [access_token, refresh_token])
        const kept = [client.client_secret, rotated, athlete.password, platform.password, one.operatorToken, signing]
        const secrets = [...codes, ...issued, ...kept, ...sessions.filter((value) => value.length > 20)]
        for (const secret of secrets) {
          expect(secret.length).toBeGreaterThan(10)
          expect(dump).not.toContain(secret)
          expect(dump).not.toContain(secret.replace(/^[a-z]+_(?:[a-z]+_)?/, ""))
        }
      })
    }))
})
