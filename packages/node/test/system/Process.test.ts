/** The process: its start, its start line, refused starts, and its stop. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { connect } from "node:net"
import { join } from "node:path"
import { authorizeUrl, consent, exchange, obtainTokens, subscribe } from "@startlist/test-support/Consent"
import { changeRegistration, createApplication, createRegistration, createUser } from "@startlist/test-support/Operator"
import { eventually } from "@startlist/test-support/Eventually"
import { makeService, runStartlist, startService } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const get = async (url: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(url, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe("the start", () => {
  it.scopedLive(
    "it prints one line with its address, its database and the page to open; stderr stays empty",
    () =>
      Effect.gen(function*() {
        const service = yield* makeService({ LOG_FORMAT: "pretty" })
        const lines = service.stdout().trim().split("\n")
        expect(lines).toHaveLength(1)
        expect(lines[0]).toContain(`listens on ${service.url}; database: `)
        expect(lines[0]).toContain(`open ${service.url}/ next`)
        expect(service.stderr()).toBe("")
      })
  )

  it.scopedLive("without a terminal, each log line is a JSON object", () =>
    Effect.gen(function*() {
      const service = yield* makeService()
      expect(JSON.parse(service.stdout())).toMatchObject({ logLevel: "INFO" })
    }))

  it.live(
    "a misspelt variable stops the start with a line without its value",
    () =>
      Effect.gen(function*() {
        const misspelt = { DATABSE_URL: "postgres://me:secret-word@db.test/startlist" }
        const ended = yield* Effect.promise(() => runStartlist(["serve"], misspelt))
        expect(ended).toEqual({
          code: 1,
          stdout: "",
          stderr:
            "startlist: DATABSE_URL: there is no such setting. If you mean DATABASE_URL, rename it; otherwise remove it.\n"
        })
      })
  )

  it.scopedLive(
    "HOST=0.0.0.0 without AUTH_URL is logged with the problem and the solution",
    () =>
      Effect.gen(function*() {
        const service = yield* makeService({ HOST: "0.0.0.0" })
        expect(JSON.parse(service.stdout().split("\n")[0] ?? "")).toMatchObject({
          logLevel: "WARN",
          message: expect.stringMatching(/^HOST is 0\.0\.0\.0 and AUTH_URL is not set: .*: set AUTH_URL /)
        })
      })
  )

  it.scopedLive(
    "a data folder in which others may write: exit 1, and a line with the solution",
    () =>
      Effect.gen(function*() {
        const DATA_DIR = yield* temporaryFolder
        chmodSync(DATA_DIR, 0o777)
        const { code, stderr } = yield* Effect.promise(() => runStartlist(["serve"], { DATA_DIR, PORT: "0" }))
        expect(code).toBe(1)
        expect(stderr).toMatch(/^startlist: DATA_DIR: others may write in [^\n]*chmod 700 [^\n]*\n$/)
        expect(readdirSync(DATA_DIR)).toEqual([])
      })
  )

  it.scopedLive(
    "HSTS is in every response if the public address is https, otherwise in none",
    () =>
      Effect.gen(function*() {
        const hstsOf = (url: string) =>
          Effect.promise(() =>
            Promise.all(
              ["/", "/login", "/nowhere", "/api/v1/athlete", "/operator/v1/users", "/oauth/token", "/healthz", "/docs"]
                .map((path) => fetch(url + path).then(({ headers }) => headers.get("strict-transport-security")))
            )
          )
        const open = yield* makeService()
        expect(new Set(yield* hstsOf(open.url))).toEqual(new Set([null]))
        const secure = yield* makeService({ AUTH_URL: "https://auth.example.org" })
        expect(new Set(yield* hstsOf(secure.url))).toEqual(new Set(["max-age=31536000"]))
      })
  )

  it.scopedLive(
    "X-Forwarded-For from a nearby peer that is not trusted is logged once",
    () =>
      Effect.gen(function*() {
        const ask = (url: string, headers: Readonly<Record<string, string>>) =>
          Effect.promise(() => fetch(`${url}/healthz`, { headers }).then((response) => response.text()))
        const forwarded = { "x-forwarded-for": "203.0.113.9" }
        const warnings = (text: string) => text.split("\n").filter((line) => line.includes("TRUSTED_PROXIES"))
        const plain = yield* makeService()
        yield* ask(plain.url, {})
        expect(warnings(plain.stdout())).toEqual([])
        for (let i = 0; i < 3; i++) yield* ask(plain.url, forwarded)
        yield* Effect.promise(() => expect.poll(() => warnings(plain.stdout())).not.toEqual([]))
        expect(warnings(plain.stdout())).toEqual([expect.stringContaining("127.0.0.1 sends X-Forwarded-For")])
        expect(plain.stdout()).not.toContain("203.0.113.9")
        const trusting = yield* makeService({ TRUSTED_PROXIES: "127.0.0.1/32" })
        yield* ask(trusting.url, forwarded)
        expect(warnings(trusting.stdout())).toEqual([])
      })
  )

  for (
    const [environment, line] of [
      [{ PORT: "eighty" }, "startlist: PORT: \"eighty\" is not a whole number from 0 to 65535\n"],
      [
        { OPERATOR_TOKEN: "letmein" },
        "startlist: OPERATOR_TOKEN: the value is not a token of at least 32 visible ASCII characters without spaces " +
        "(openssl rand -hex 32 makes one)\n"
      ],
      [
        { DATABASE_URL: "postgres://localhost/x" },
        "startlist: OPERATOR_TOKEN: must be set together with DATABASE_URL, the same on every node\n"
      ]
    ] as const
  ) {
    it.scopedLive(
      `${JSON.stringify(environment)}: exit 1, nothing but one line on stderr`,
      () =>
        Effect.gen(function*() {
          const DATA_DIR = yield* temporaryFolder
          const { code, stderr, stdout } = yield* Effect.promise(() =>
            runStartlist(["serve"], { DATA_DIR, ...environment })
          )
          expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: line })
        })
    )
  }

  it.scopedLive("a port that is in use: exit 1 and a line that names it", () =>
    Effect.gen(function*() {
      const service = yield* makeService()
      const { port } = new URL(service.url)
      const DATA_DIR = yield* temporaryFolder
      const { code, stderr } = yield* Effect.promise(() => runStartlist(["serve"], { DATA_DIR, PORT: port }))
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `startlist: PORT: ${port} is already in use on 127.0.0.1. Choose another port.\n`
      })
    }))

  it.scopedLive(
    "a damaged data folder: exit 1, a line that names it, and nothing in it is changed",
    () =>
      Effect.gen(function*() {
        const DATA_DIR = yield* temporaryFolder
        mkdirSync(join(DATA_DIR, "pgdata"))
        writeFileSync(join(DATA_DIR, "pgdata", "PG_VERSION"), "nonsense")
        const { code, stderr } = yield* Effect.promise(() => runStartlist(["serve"], { DATA_DIR, PORT: "0" }))
        expect(code).toBe(1)
        expect(stderr).toMatch(/^startlist: DATA_DIR: the data folder [^\n]* is damaged\n$/)
        expect(readdirSync(join(DATA_DIR, "pgdata"))).toEqual(["PG_VERSION"])
      })
  )

  it.scopedLive(
    "a database that does not answer: exit 1 and a line that names it, without the password",
    () =>
      Effect.gen(function*() {
        const { code, stderr } = yield* Effect.promise(() =>
          runStartlist(["serve"], {
            DATABASE_URL: "postgres://me:secret-word@127.0.0.1:1/startlist",
            OPERATOR_TOKEN: "t".repeat(32),
            MASTER_KEY: Buffer.alloc(32).toString("base64")
          })
        )
        expect(code).toBe(1)
        expect(stderr).toMatch(/^startlist: DATABASE_URL: .*ECONNREFUSED.*\n$/)
        expect(stderr).not.toContain("secret-word")
      })
  )
})

describe("health", () => {
  it.scopedLive(
    "it is alive and ready, and shows its metrics only to this machine and to the operator",
    () =>
      Effect.gen(function*() {
        const service = yield* makeService({ TRUSTED_PROXIES: "127.0.0.0/8" })
        yield* Effect.promise(async () => {
          expect((await get(`${service.url}/healthz`)).status).toBe(200)
          expect((await get(`${service.url}/readyz`)).status).toBe(200)
          const numbers = await get(`${service.url}/metrics`)
          expect(numbers.status).toBe(200)
          expect(numbers.headers.get("content-type")).toContain("text/plain")
          expect(numbers.text).toContain("startlist_http_requests_total{")
          const proxied = { "x-forwarded-for": "203.0.113.9" }
          expect((await get(`${service.url}/metrics`, proxied)).status).toBe(401)
          expect((await get(`${service.url}/metrics`, { ...proxied, "x-forwarded-for": "127.0.0.1" })).status).toBe(401)
          const authorization = `Bearer ${service.operatorToken}`
          expect((await get(`${service.url}/metrics`, { ...proxied, authorization })).status).toBe(200)
        })
      })
  )

  it.scopedLive("a node with ROLES=worker serves only health, readiness and metrics", () =>
    Effect.gen(function*() {
      const service = yield* makeService({ ROLES: "worker" })
      yield* Effect.promise(async () => {
        expect((await get(`${service.url}/readyz`)).status).toBe(200)
        expect((await get(`${service.url}/oauth/authorize`)).status).toBe(404)
        expect((await get(`${service.url}/operator/v1/applications`)).status).toBe(404)
      })
    }))

  it.scopedLive("the log contains no query string and no secret, at any level", () =>
    Effect.gen(function*() {
      const service = yield* makeService({ LOG_LEVEL: "trace" })
      yield* Effect.promise(async () => {
        const platform = await createUser(service, "platform")
        const client = await createApplication(service, platform)
        const back = await consent(authorizeUrl(service, client, { state: "state-word" }), platform)
        const code = back.searchParams.get("code") ?? ""
        const tokens = await (await exchange(service, client, code)).json()
        await get(`${service.url}/api/v1/athlete?access_token=query-word`)
        await service.stop()
        const log = service.stdout() + service.stderr()
        expect(log).toContain("/oauth/token")
        for (
          const secret of [
            code,
            client.client_secret,
            tokens.access_token,
            tokens.refresh_token,
            platform.password,
            service.operatorToken,
            "query-word",
            "state-word"
          ]
        ) expect(log).not.toContain(secret)
      })
    }))
})

/** A collector that accepts everything. */
const makeCollector = Effect.acquireRelease(
  Effect.promise(async () => {
    const exported = new Map<string, string>()
    const server = createServer((request, response) => {
      let body = ""
      request.setEncoding("utf8").on("data", (text: string) => body += text).on("end", () => {
        const path = request.url ?? ""
        exported.set(path, (exported.get(path) ?? "") + body)
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return { url: `http://127.0.0.1:${port}`, exported, server }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

describe("telemetry", () => {
  it.scopedLive(
    "traces and metrics reach the collector before the process ends, without queries and secrets",
    () =>
      Effect.gen(function*() {
        const collector = yield* makeCollector
        const service = yield* makeService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
        yield* Effect.promise(async () => {
          const platform = await createUser(service, "platform")
          const client = await createApplication(service, platform)
          const tokens = await obtainTokens(service, client, platform)
          await get(`${service.url}/api/v1/athlete?access_token=query-word`)
          expect(await service.stop()).toEqual({ code: 0, signal: null })
          expect(collector.exported.get("/v1/traces")).toContain("POST /oauth/token")
          expect(collector.exported.get("/v1/metrics")).toContain("startlist_http_requests_total")
          const everything = [...collector.exported.values()].join()
          const secrets = [tokens.access_token, tokens.refresh_token, client.client_secret, service.operatorToken]
          for (const secret of [...secrets, platform.password, "query-word"]) expect(everything).not.toContain(secret)
        })
      })
  )

  it.scopedLive("an unreachable collector does not affect the service", () =>
    Effect.gen(function*() {
      const service = yield* makeService({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" })
      yield* Effect.promise(async () => {
        expect((await get(`${service.url}/readyz`)).status).toBe(200)
        const asked = Date.now()
        expect(await service.stop()).toEqual({ code: 0, signal: null })
        expect(Date.now() - asked).toBeLessThan(10_000)
      })
    }))
})

/** A callback that answers the challenge immediately, and holds each event until it is released. */
const makeSlowReceiver = Effect.acquireRelease(
  Effect.promise(async () => {
    const held: Array<() => void> = []
    let arrived = () => {}
    const firstEvent = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const server = createServer((request, response) => {
      if (request.method === "GET") {
        const challenge = new URL(request.url ?? "", "http://x.invalid").searchParams.get("hub.challenge")
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify({ "hub.challenge": challenge }))
        return
      }
      request.resume()
      held.push(() => response.writeHead(200).end())
      arrived()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return { url: `http://127.0.0.1:${port}/`, held, firstEvent, server }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

describe("the stop", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.scopedLive(`${signal}: exit 0, and the port is free again`, () =>
      Effect.gen(function*() {
        const service = yield* makeService()
        const exit = yield* Effect.promise(() => service.stop(signal))
        expect(exit).toEqual({ code: 0, signal: null })
        const again = yield* Effect.promise(() => fetch(`${service.url}/healthz`).catch(() => "refused"))
        expect(again).toBe("refused")
      }))
  }

  it.scopedLive(
    "a request in progress is completed after the signal; new connections are refused",
    () =>
      Effect.gen(function*() {
        const service = yield* makeService()
        yield* Effect.promise(async () => {
          const { hostname, port } = new URL(service.url)
          const socket = connect(Number(port), hostname)
          let answer = ""
          socket.setEncoding("utf8").on("data", (text: string) => answer += text)
          const closed = new Promise((resolve) => socket.once("close", resolve))
          await new Promise((resolve) => socket.once("connect", resolve))
          const body = JSON.stringify({ role: "athlete", email: "late@example.test", password: "late password" })
          socket.write(
            `POST /operator/v1/users HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.operatorToken}\r\n` +
              `content-type: application/json\r\ncontent-length: ${
                Buffer.byteLength(body)
              }\r\nexpect: 100-continue\r\n\r\n`
          )
          while (!answer.includes("100 Continue")) await new Promise((resolve) => socket.once("data", resolve))
          const exit = service.stop("SIGTERM")
          const isHealthy = () => fetch(`${service.url}/healthz`).then(() => true, () => false)
          await eventually(isHealthy, (healthy) => !healthy)
          socket.write(body)
          await closed
          expect(answer).toContain("HTTP/1.1 201 Created")
          expect(answer.toLowerCase()).toContain("connection: close")
          expect(await exit).toEqual({ code: 0, signal: null })
        })
      })
  )

  it.scopedLive(
    "a delivery in progress is completed, and the process exits within 10 s",
    () =>
      Effect.gen(function*() {
        const receiver = yield* makeSlowReceiver
        const service = yield* makeService()
        yield* Effect.promise(async () => {
          const platform = await createUser(service, "platform")
          const athlete = await createUser(service, "athlete")
          const client = await createApplication(service, platform)
          const { access_token } = await obtainTokens(service, client, platform)
          await obtainTokens(service, client, athlete)
          expect((await subscribe(service, access_token, receiver.url)).status).toBe(201)
          const registration = await createRegistration(service, { athlete_id: athlete.id })
          await changeRegistration(service, registration, { registration_status: "validated" })
          await receiver.firstEvent
          const asked = Date.now()
          const exit = service.stop("SIGTERM")
          for (const letGo of receiver.held) letGo()
          expect(await exit).toEqual({ code: 0, signal: null })
          expect(Date.now() - asked).toBeLessThan(10_000)
          expect(service.stdout()).not.toContain("WARN")
        })
      })
  )

  it.scopedLive(
    "with a receiver that never answers, and idle connections, it still exits within 10 s",
    () =>
      Effect.gen(function*() {
        const receiver = yield* makeSlowReceiver
        const service = yield* makeService()
        yield* Effect.promise(async () => {
          const platform = await createUser(service, "platform")
          const client = await createApplication(service, platform)
          const { access_token } = await obtainTokens(service, client, platform)
          await subscribe(service, access_token, receiver.url)
          const athlete = await createUser(service, "athlete")
          await obtainTokens(service, client, athlete)
          const registration = await createRegistration(service, { athlete_id: athlete.id })
          await changeRegistration(service, registration, { registration_status: "validated" })
          await receiver.firstEvent
          const { hostname, port } = new URL(service.url)
          const silent = connect(Number(port), hostname)
          silent.on("error", () => {})
          await new Promise((resolve) => silent.once("connect", resolve))
          silent.write("GET / HTTP/1.1\r\n")
          const asked = Date.now()
          expect(await service.stop("SIGTERM")).toEqual({ code: 0, signal: null })
          // Less than the limit at which the process exits without closing its database.
          expect(Date.now() - asked).toBeLessThan(9000)
          silent.destroy()
        })
      })
  )
})

it.scopedLive("a second start on the same folder finds the keys of the first", () =>
  Effect.gen(function*() {
    const DATA_DIR = yield* temporaryFolder
    yield* Effect.promise(async () => {
      const first = await startService({ DATA_DIR })
      await first.stop()
      const second = await startService({ DATA_DIR })
      await second.stop()
      expect(second.operatorToken).toBe(first.operatorToken)
    })
  }))
