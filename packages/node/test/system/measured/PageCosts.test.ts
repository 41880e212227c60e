/** No page costs ten times the CPU of another, nor does a request of an application, however long the history is. */
import { expect, it } from "@effect/vitest"
import { Browser } from "@startlist/test-support/Browser"
import { authorizeUrl, obtainTokens, openAs } from "@startlist/test-support/Consent"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import type { Pool } from "pg"

/** Events of the last hours with two attempts each, as an application has after some trouble of its receiver. */
const history = (applicationId: number) => `
  INSERT INTO startlist_deliveries (application_id, subscription_id, event_id, aspect_type, object_type, object_id, updates,
      event_time, due_at, ended_at, state, head, attempts, log_position, sequence)
  SELECT ${applicationId}, ${applicationId}, 'evt_${applicationId}_' || i, 'u', 'r', i % 900,
    json_build_array('platform', 'confirmed', 'licence', 'valid', json_build_array('a reason'), 'a comment about it'),
    at, at, at, CASE i % 9 WHEN 0 THEN 'x' ELSE 'd' END, true,
    json_build_array(
      json_build_array(at, 1200 + i % 700, 'rejected', 500, 'Internal Server Error'),
      json_build_array(at + 5000, 30 + i % 90, CASE i % 9 WHEN 0 THEN 'rejected' ELSE 'delivered' END, 200, 'ok')
    ), nextval('startlist_log_positions'), i
  FROM (
    SELECT i, (extract(epoch FROM now()) * 1000)::bigint - (4500 - i) * 15000 AS at FROM generate_series(1, 4500) i
  ) e`

const ticksPerSecond = 100

/** Processes of the servers of this database's connections, except the one that asks. */
const servers = async (admin: Pool): Promise<ReadonlyArray<number>> => {
  const { rows } = await admin.query(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
  )
  return rows.map(({ pid }) => pid)
}

/** Milliseconds of CPU of this process and of these. */
const spent = (pids: ReadonlyArray<number>): number => {
  const { system, user } = process.cpuUsage()
  const ofServers = pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")
    return sum + Number(fields[11]) + Number(fields[12])
  }, 0)
  return (system + user) / 1000 + ofServers * 1000 / ticksPerSecond
}

const applications = 12

it.scopedLive("no GET of a signed-in person, or with a token, costs ten times the CPU of another", () =>
  Effect.gen(function*() {
    const service = yield* InProcessService.make({ DATABASE_CONNECTIONS: "2" })
    yield* Effect.promise(async () => {
      const { admin } = service.database
      const owner = await createUser(service, "platform")
      const clients = await Promise.all(Array.from({ length: applications }, () => createApplication(service, owner)))
      for (const { client_id } of clients) await admin.query(history(client_id))
      await admin.query("VACUUM ANALYZE")
      const browser = new Browser()
      await openAs(browser, `${service.url}/developer/applications`, owner)
      const [client] = clients
      if (client === undefined) throw new Error("there is no application")
      const { access_token: token } = await obtainTokens(service, client, owner)
      const { rows: [newest] } = await admin.query(
        "SELECT max(id) AS id FROM startlist_deliveries WHERE application_id = $1",
        [
          client.client_id
        ]
      )
      const page = (path: string) => () => browser.open(`${service.url}${path}`)
      const ofEach = (path: string) => (place: number) =>
        browser.open(`${service.url}/developer/applications/${clients[place % applications]?.client_id}${path}`)
      const api = (path: string) => () =>
        fetch(`${service.url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } }).then((got) =>
          got.text()
        )
      // Each search and chart is of another application, so that no answer comes from a cache.
      const requests: Readonly<Record<string, (place: number) => Promise<unknown>>> = {
        "/account/applications": page("/account/applications"),
        "/account/security": page("/account/security"),
        "/oauth/authorize": () => browser.open(authorizeUrl(service, client)),
        "/developer/applications": page("/developer/applications"),
        "/api/v1/athlete": api("/athlete"),
        "/api/v1/webhook_events": api("/webhook_events"),
        "one delivery": page(`/developer/applications/${client.client_id}/deliveries/${newest.id}`),
        "an application, with a new chart": ofEach(""),
        "deliveries": ofEach("/deliveries"),
        "deliveries of a state": ofEach("/deliveries?state=exhausted"),
        "deliveries of an object": ofEach("/deliveries?text=7"),
        "deliveries of nothing": ofEach("/deliveries?text=nothing"),
        "deliveries of a time": ofEach("/deliveries?since=2020-01-01T00:00&until=2020-01-02T00:00")
      }
      for (let place = 0; place < 3; place++) for (const request of Object.values(requests)) await request(place)
      const pids = await servers(admin)
      const costs: Record<string, number> = {}
      // In turns, so that a moment in which the machine is slow makes all of them slower.
      for (let place = 3; place < applications; place++) {
        for (const [name, request] of Object.entries(requests)) {
          const before = spent(pids)
          await request(place)
          costs[name] = (costs[name] ?? 0) + (spent(pids) - before) / (applications - 3)
        }
      }
      for (const isApi of [true, false]) {
        const values = Object.entries(costs).filter(([name]) => name.startsWith("/api") === isApi).map(([, cost]) =>
          cost
        )
        expect(Math.max(...values) / Math.min(...values), JSON.stringify(costs)).toBeLessThan(10)
      }
    })
  }))
