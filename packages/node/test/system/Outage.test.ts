/** During an outage of the database the service reports it, waits, and continues by itself. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { athleteStatus, obtainTokens, refresh, revoke } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import { createApplication, createUser, operate } from "@startlist/test-support/Operator"
import { within } from "@startlist/test-support/Patience"
import { makeReceiver } from "@startlist/test-support/Receiver"
import * as SilentNetwork from "@startlist/test-support/SilentNetwork"
import { brew } from "@startlist/test-support/Storm"

describe("an outage of PostgreSQL", () => {
  it.scopedLive(
    "every request gets 503 and Retry-After within 5 s; afterwards all requests succeed again",
    () =>
      Effect.gen(function*() {
        const { server, url } = yield* makeDatabase
        const service = yield* makeNode(installation(Redacted.value(url)))
        const isReady = () => fetch(`${service.url}/readyz`).then(({ status }) => status === 200, () => false)
        const prepared = yield* Effect.promise(async () => {
          const platform = await createUser(service, "platform")
          const athlete = await createUser(service, "athlete")
          const client = await createApplication(service, platform)
          return { client, tokens: await obtainTokens(service, client, athlete) }
        })
        yield* server.stop
        yield* Effect.promise(async () => {
          const { client, tokens } = prepared
          const read = async (response: Response) => ({
            status: response.status,
            headers: response.headers,
            body: await response.text()
          })
          const timed = (answer: Promise<Response>) => within(5000, answer.then(read))
          const bearer = { authorization: `Bearer ${tokens.access_token}` }
          const operator = { authorization: `Bearer ${service.operatorToken}` }
          const answers = await Promise.all([
            timed(refresh(service, client, tokens.refresh_token)),
            timed(revoke(service, client, tokens.refresh_token)),
            timed(fetch(`${service.url}/api/v1/athlete`, { headers: bearer })),
            timed(fetch(`${service.url}/api/v1/webhook_subscription`, { headers: bearer })),
            timed(fetch(`${service.url}/operator/v1/applications`, { headers: operator })),
            timed(fetch(`${service.url}/readyz`))
          ])
          for (const { headers, status } of answers) {
            expect(status).toBe(503)
            expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
          }
          expect(answers[1]?.body).toBe("{}")
          expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
        })
        yield* server.start
        yield* Effect.promise(async () => {
          await eventually(isReady, (ready) => ready)
          const { client, tokens } = prepared
          expect(await athleteStatus(service, tokens.access_token)).toBe(200)
          const fresh = await refresh(service, client, tokens.refresh_token)
          expect(fresh.status).toBe(200)
          const answer = await revoke(service, client, (await fresh.json()).access_token)
          expect([answer.status, await answer.json()]).toEqual([200, {}])
          expect(await athleteStatus(service, tokens.access_token)).toBe(401)
          expect((await operate(service, "GET", "/applications")).status).toBe(200)
        })
      })
  )

  it.scopedLive(
    "on a network that drops all packets, /readyz fails within seconds, and recovers",
    () =>
      Effect.gen(function*() {
        const { url } = yield* makeDatabase
        const network = yield* SilentNetwork.make(Redacted.value(url))
        const service = yield* makeNode(installation(network.url))
        const isReady = () => fetch(`${service.url}/readyz`).then(({ status }) => status === 200)
        yield* Effect.promise(async () => {
          expect(await isReady()).toBe(true)
          network.silence()
          // Probes that time out must not change this.
          await eventually(async () => {
            await fetch(`${service.url}/readyz`, { signal: AbortSignal.timeout(50) }).catch(() => {})
            return await isReady()
          }, (ready) => !ready)
          expect(await within(5000, isReady())).toBe(false)
          network.speak()
          await eventually(isReady, (ready) => ready)
        })
      })
  )

  it.scopedLive(
    "three restarts, and terminated backends, under load lose nothing that was confirmed, and do not restart the service",
    () =>
      Effect.gen(function*() {
        const { admin, server, url } = yield* makeDatabase
        const service = yield* makeNode(installation(Redacted.value(url)))
        const receiver = yield* makeReceiver
        const storm = yield* Effect.promise(() =>
          brew(() => Promise.resolve(service), receiver, { writers: 8, chains: 8 })
        )
        for (let round = 1; round <= 9; round++) {
          yield* Effect.promise(() => storm.progress(3 + (round * 7) % 20))
          if (round % 3 === 0) yield* server.restart
          else {
            yield* Effect.promise(() =>
              admin.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'startlist' AND pid <> pg_backend_pid()"
              )
            )
          }
        }
        yield* Effect.promise(async () => {
          await storm.progress(25)
          expect(await storm.settle()).toEqual([])
          expect(service.child.exitCode).toBe(null)
        })
      })
  )

  it.scopedLive(
    "without its synchronous standby, the service uses no more connections than it may, and continues when it is back",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* makeDatabase
        const limit = 4
        const service = yield* makeNode({ ...installation(Redacted.value(url)), DATABASE_CONNECTIONS: String(limit) })
        const configure = (setting: string) =>
          Effect.promise(() =>
            admin.query(`ALTER SYSTEM ${setting}`).then(() => admin.query("SELECT pg_reload_conf()"))
          )
        const count = async (): Promise<number> =>
          (await admin.query(
            "SELECT count(*)::integer AS n FROM pg_stat_activity WHERE application_name = 'startlist'"
          ))
            .rows[0].n
        const isReady = () => fetch(`${service.url}/readyz`).then(({ status }) => status === 200)
        const create = (email: string) =>
          operate(service, "POST", "/users", {
            role: "athlete",
            email,
            password: "correct horse battery",
            first_name: "A",
            last_name: "B"
          })
        yield* Effect.addFinalizer(() => configure("RESET synchronous_standby_names"))
        yield* configure("SET synchronous_standby_names = 'nobody'")
        yield* Effect.promise(async () => {
          await eventually(isReady, (ready) => !ready)
          const end = Date.now() + 7000
          const writers = Array.from({ length: 2 * limit }, async (_, writer) => {
            for (let turn = 0; Date.now() < end; turn++) {
              expect((await within(5500, create(`a${writer}-${turn}@a.test`))).status).toBe(503)
            }
          })
          let most = 0
          while (Date.now() < end) most = Math.max(most, await count())
          await Promise.all(writers)
          // One more receives notifications.
          expect([most, await count()]).toEqual([limit + 1, limit + 1])
        })
        yield* configure("RESET synchronous_standby_names")
        yield* Effect.promise(async () => {
          await eventually(isReady, (ready) => ready)
          expect((await create("later@a.test")).status).toBe(201)
          expect([await count() <= limit + 1, service.child.exitCode]).toEqual([true, null])
        })
      })
  )

  it.scopedLive("a service that is stopped during the outage exits with 0 within 10 s", () =>
    Effect.gen(function*() {
      const { server, url } = yield* makeDatabase
      const service = yield* makeNode(installation(Redacted.value(url)))
      const receiver = yield* makeReceiver
      const storm = yield* Effect.promise(() =>
        brew(() => Promise.resolve(service), receiver, { writers: 2, chains: 2 })
      )
      yield* Effect.promise(() => storm.progress(10))
      yield* server.stop
      yield* Effect.promise(async () => {
        const asked = Date.now()
        expect(await service.stop("SIGTERM")).toEqual({ code: 0, signal: null })
        expect(Date.now() - asked).toBeLessThan(10_000)
        storm.abandon()
      })
      yield* server.start
    }))
})
