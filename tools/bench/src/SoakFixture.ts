/** The fixture of a soak: the service over a database with grants, subscriptions and registrations, and the requests to it. */
import { once } from "node:events"
import { createServer } from "node:http"
import * as Pg from "pg"
import { Pool } from "undici"
import * as Cleanup from "./Cleanup.ts"
import type * as Database from "./Database.ts"
import * as Process from "./Process.ts"
import { athleteBody, type Ready } from "./Protocol.ts"
import * as Service from "./Service.ts"
import type { Flow } from "./SteadyLoad.ts"

/** Requests per second. */
export const rates = { refresh: 50, bearer: 100, change: 5 }

/** Number of subscriptions that each change concerns. */
export const subscriptions = 10

/** Number of grants that are refreshed, each once in 40 s. */
export const grants = 2000

/** Gives a grant one to four valid access tokens, as with eight hours and a client that is in use all day. */
const accessTokenLifetime = "2m"

/** Number of registrations, each of an athlete who has granted all applications. */
const registrations = 200

const operatorToken = "benchmark-".repeat(4)

/** Timeout of a request in seconds. */
const patience = 30

const noUpdates = {
  platform_id: "",
  registration_status: "",
  document_type: "",
  document_status: "",
  reasons: [],
  comment: ""
}

interface Answer {
  readonly status: number
  readonly body: string
}

type Ask = (
  method: "GET" | "PATCH" | "POST",
  path: string,
  type: string,
  body?: string,
  bearer?: string
) => Promise<Answer>

const asking = (port: number): Ask => {
  const timeouts = { headersTimeout: patience * 1000, bodyTimeout: patience * 1000 }
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 256, pipelining: 1, ...timeouts })
  Cleanup.onEnd(() => pool.destroy())
  return async (method, path, type, body, bearer) => {
    const headers = {
      ...body !== undefined && { "content-type": type },
      ...bearer !== undefined && { authorization: `Bearer ${bearer}` }
    }
    const response = await pool.request({ method, path, headers, body: body ?? null })
    return { status: response.statusCode, body: await response.body.text() }
  }
}

/** Answers 200, and calls `received` with the comment of the event. */
const receive = async (received: (comment: string) => void): Promise<string> => {
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    response.end()
    received(/"comment":"(\d+)"/.exec(Buffer.concat(chunks).toString())?.[1] ?? "")
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  Cleanup.onEnd(async () => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/callback`
}

/** Inserts all subscriptions, and registrations of athletes who have granted all applications. */
const fill = async ({ query, settle }: Database.Fresh, athletes: ReadonlyArray<number>, callbackUrl: string) => {
  await query(
    `INSERT INTO startlist_subscriptions (application_id, version, callback_url, created_at, updated_at)
    SELECT id, 1, $1, created_at, created_at FROM startlist_applications`,
    [callbackUrl]
  )
  await query(
    `INSERT INTO startlist_grants (application_id, user_id, active, consent, access, generation, version)
    SELECT a.id, g.user_id, true, g.consent, '', 0, 1 FROM startlist_grants g, startlist_applications a
    WHERE a.id > g.application_id AND g.user_id = ANY ($1::bigint[])`,
    [athletes]
  )
  await query(
    `INSERT INTO startlist_registrations (version, athlete_id, updates)
    SELECT 1, id, $2 FROM unnest($1::bigint[]) AS id`,
    [athletes, JSON.stringify(noUpdates)]
  )
  await settle()
}

/** Both flows of an application: refreshes its tokens in turn, and sends requests with random ones. */
const clientFlows = ({ athletes, clientId, clientSecret }: Ready, ask: Ask): ReadonlyArray<Flow> => {
  const current = athletes.map((athlete) => ({ ...athlete }))
  const waiting = [...current]
  const form = "application/x-www-form-urlencoded"
  const credentials = `grant_type=refresh_token&client_id=${clientId}&client_secret=${clientSecret}`
  return [
    {
      name: "refresh",
      perSecond: rates.refresh,
      call: async () => {
        const grant = waiting.shift()
        if (grant === undefined) return false
        const { body, status } = await ask(
          "POST",
          "/oauth/token",
          form,
          `${credentials}&refresh_token=${grant.refreshToken}`
        )
        // An overloaded service has not changed the token.
        if (status === 503) waiting.push(grant)
        if (status !== 200) return false
        const { access_token: accessToken, refresh_token: refreshToken } = JSON.parse(body)
        if (refreshToken === grant.refreshToken) return false
        Object.assign(grant, { accessToken, refreshToken })
        waiting.push(grant)
        return true
      }
    },
    {
      name: "bearer check",
      perSecond: rates.bearer,
      call: async () => {
        const grant = current[Math.floor(Math.random() * current.length)]
        if (grant === undefined) return false
        const { body, status } = await ask("GET", "/api/v1/athlete", "", undefined, grant.accessToken)
        return status === 200 && body === athleteBody(grant.id)
      }
    }
  ]
}

/**
 * The same kinds of work without the service: a request to a bare server in its place, and an update of one row
 * that is committed.
 */
const startProbes = async ({ query, url }: Database.Fresh) => {
  const { ready } = await Process.start<Ready>("servers/Raw", [], "measured")
  const ask = asking(ready.port)
  await query("CREATE TABLE probe AS SELECT 0::bigint AS n")
  const client = new Pg.Client({ connectionString: url })
  await client.connect()
  let last: Promise<unknown> = Promise.resolve()
  const flows: ReadonlyArray<Flow> = [
    {
      name: "bare request",
      perSecond: rates.bearer,
      call: async () => (await ask("GET", "/", "")).status === 200
    },
    {
      name: "bare commit",
      perSecond: rates.refresh,
      call: async () => {
        // One after another: all update the same row.
        const updated = last.then(() => client.query("UPDATE probe SET n = n + 1"))
        last = updated.catch(() => {})
        return (await updated).rowCount === 1
      }
    }
  ]
  return { flows, stop: () => client.end() }
}

/** A running fixture. */
export interface Soaked {
  /** Process id of the service. */
  readonly pid: number
  readonly flows: ReadonlyArray<Flow>
  /** Number of deliveries that have not arrived yet, and of those that arrived again. */
  readonly deliveries: () => { readonly missing: number; readonly repeated: number }
  readonly stop: () => Promise<void>
}

/**
 * Starts everything. `delivered` is called for each delivery, with the time at which its change was due. `retention` is in
 * seconds: ended deliveries are stored for this long, and a tenth of it lies between two purges.
 */
export const start = async (
  database: Database.Fresh,
  retention: number,
  delivered: (due: number) => void
): Promise<Soaked> => {
  const masterKey = Service.makeKey()
  const clients = await Process.start<Ready>(
    "servers/Startlist",
    ["postgres", database.url, String(grants)],
    "measured",
    {
      env: { MASTER_KEY: masterKey }
    }
  )
  await clients.stop()
  const service = await Process.start<{ readonly port: number }>(
    "servers/Service",
    [String(retention), String(retention / 10)],
    "measured",
    {
      env: {
        ACCESS_TOKEN_LIFETIME: accessTokenLifetime,
        DATABASE_URL: database.url,
        LOG_LEVEL: "warning",
        MASTER_KEY: masterKey,
        OPERATOR_TOKEN: operatorToken,
        PORT: "0"
      }
    }
  )
  const ask = asking(service.ready.port)
  const operate = (method: "PATCH" | "POST", path: string, body: object) =>
    ask(method, `/operator/v1${path}`, "application/json", JSON.stringify(body), operatorToken)
  for (let id = 2; id <= subscriptions; id++) {
    const { body, status } = await operate("POST", "/applications", {
      name: `Number ${id}`,
      owner_id: 1,
      redirect_uris: []
    })
    if (status !== 201) throw new Error(`no application, but ${status} ${body}`)
  }
  let changes = 0
  let repeated = 0
  /**
   * By comment of a change that may have been saved: the time at which it was due, and its number of missing
   * deliveries.
   */
  const expected = new Map<string, { readonly due: number; missing: number }>()
  const callbackUrl = await receive((comment) => {
    const change = expected.get(comment)
    if (change === undefined) return void repeated++
    delivered(change.due)
    if (--change.missing === 0) expected.delete(comment)
  })
  await fill(database, clients.ready.athletes.slice(0, registrations).map(({ id }) => id), callbackUrl)
  const change: Flow = {
    name: "change",
    perSecond: rates.change,
    call: async (due) => {
      const comment = String(++changes)
      expected.set(comment, { due, missing: subscriptions })
      const path = `/registrations/${1 + changes % registrations}`
      const isSaved = await operate("PATCH", path, { comment }).then(({ status }) => status === 200, () => false)
      const untouched = expected.get(comment)?.missing === subscriptions
      if (!isSaved && untouched) expected.delete(comment)
      return isSaved
    }
  }
  const probes = await startProbes(database)
  return {
    pid: service.pid,
    flows: [...clientFlows(clients.ready, ask), change, ...probes.flows],
    deliveries: () => ({
      missing: [...expected.values()].reduce((sum, { missing }) => sum + missing, 0),
      repeated
    }),
    stop: async () => {
      await probes.stop()
      await service.stop()
    }
  }
}
