/** Overload of the real service: it refuses immediately what it cannot process soon, and recovers afterwards. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { obtainTokens } from "@startlist/test-support/Consent"
import { Browser, theForm } from "@startlist/test-support/Browser"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import { type Asked, load, take, type Taken } from "../hostile/support/Load.ts"
import { makeMeasuredService, type MeasuredService } from "../hostile/support/MeasuredService.ts"

/** Maximum number of requests that are processed in parallel in these tests. The clients send many times as many. */
const capacity = 8
const clients = 64

const formType = { "content-type": "application/x-www-form-urlencoded" }

const health: Asked = { method: "GET", path: "/healthz", headers: {}, body: "" }

/** A request that needs two lookups in the database. */
const introspection = async (service: MeasuredService): Promise<Asked> => {
  const platform = await createUser(service, "platform")
  const client = await createApplication(service, platform)
  const { access_token } = await obtainTokens(service, client, platform)
  const body = new URLSearchParams({
    client_id: String(client.client_id),
    client_secret: client.client_secret,
    token: access_token
  })
  return { method: "POST", path: "/oauth/introspect", headers: formType, body: body.toString() }
}

const withStatus = (taken: ReadonlyArray<Taken>, status: number) => taken.filter((one) => one.status === status)

const slowest = (taken: ReadonlyArray<Taken>): number => Math.max(...taken.map(({ milliseconds }) => milliseconds))

describe("under many times the load that it can serve", () => {
  it.scopedLive(
    "the service serves what it can, refuses the rest with 503 in the endpoint's format, and always answers health checks",
    () =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService({ MAX_REQUESTS: String(capacity), LOG_LEVEL: "info" })
        yield* Effect.promise(async () => {
          const asked = await introspection(service)
          const healthy: Array<Taken> = []
          const burst = async (answers: number) => {
            let over = false
            const watching = (async () => {
              while (!over) healthy.push(await take(service.port, health))
            })()
            const taken = await load(service.port, clients, () => asked, (all) => all.length >= answers)
            const asIfNothing = await take(service.port, asked)
            over = true
            await watching
            return { taken, asIfNothing }
          }
          await burst(2000)
          const before = await service.measure()
          const { asIfNothing, taken } = await burst(6000)
          const after = await service.measure()

          const served = withStatus(taken, 200)
          const refused = withStatus(taken, 503)
          expect(served.length + refused.length).toBe(taken.length)
          expect(served.length).toBeGreaterThan(capacity)
          expect(refused.length).toBeGreaterThan(capacity)
          for (const { body, headers } of refused) {
            expect(JSON.parse(body)).toMatchObject({ error: "temporarily_unavailable" })
            expect(headers["retry-after"]).toBe("1")
          }
          expect(healthy.length).toBeGreaterThan(0)
          expect(withStatus(healthy, 200)).toHaveLength(healthy.length)
          // The queue is short: accepted requests are served soon, for any number of refused ones.
          expect(slowest(served)).toBeLessThan(5000)
          expect(after.heapUsed - before.heapUsed).toBeLessThan(8_000_000)
          // There is room again after the last response.
          expect(asIfNothing.status).toBe(200)
          expect(asIfNothing.milliseconds).toBeLessThan(1000)
        })
      })
  )

  it.scopedLive(
    "sign-ins over the limit of password checks must retry, and everything else is served",
    () =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService({ LOG_LEVEL: "info" })
        yield* Effect.promise(async () => {
          const asked = await introspection(service)
          const browser = new Browser()
          const form = theForm(await browser.open(`${service.url}/login`), ({ fields }) => fields.has("password"))
          const cookie = await browser.jar.getCookieString(service.url)
          const attempt = (client: number): Asked => ({
            method: "POST",
            path: "/login",
            headers: { ...formType, cookie, "x-forwarded-for": `198.18.${client >> 8}.${client & 255}` },
            body: new URLSearchParams({
              csrf: form.fields.get("csrf") ?? "",
              email: `nobody-${client}@example.test`,
              password: "a guess"
            }).toString()
          })
          let done = false
          const signIns = load(service.port, 150, attempt, (all) => all.length >= 300).finally(() => {
            done = true
          })
          const others: Array<Taken> = []
          while (!done) others.push(await take(service.port, asked))
          const taken = await signIns

          const checked = withStatus(taken, 403)
          const refused = withStatus(taken, 503)
          expect(checked.length + refused.length).toBe(taken.length)
          expect(checked.length).toBeGreaterThan(0)
          expect(refused.length).toBeGreaterThan(0)
          for (const { body, headers } of refused) {
            expect(headers["retry-after"]).toBe("1")
            expect(body).toMatch(/^<!doctype html>/)
          }
          expect(others.length).toBeGreaterThan(0)
          expect(withStatus(others, 200)).toHaveLength(others.length)
        })
      })
  )
})
