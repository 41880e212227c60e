/**
 * The guide for developers of applications: its application, the client package and the Python module, against a real
 * service. `Guides.test.ts` runs its commands.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { createHmac } from "node:crypto"
import { createServer } from "node:http"
import { copyFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Pool } from "pg"
import { type Authorization, ConnectAgain, createClient } from "@startlist/client"
import * as Postgres from "@startlist/client/Postgres"
import * as TestServer from "@startlist/test-support/TestServer"
import * as CleanCopy from "@startlist/test-support/CleanCopy"
import { athleteStatus, consent, obtainTokens, revealSigningSecret, subscribe } from "@startlist/test-support/Consent"
import { changeRegistration, createRegistration, operate, type Person } from "@startlist/test-support/Operator"
import { makeService, type Service } from "@startlist/test-support/ServiceProcess"
import { eventually } from "@startlist/test-support/Eventually"
import { succeeds } from "@startlist/test-support/RunProgram"
import { freePort } from "@startlist/test-support/FreePort"
import * as Guide from "./support/Guide.ts"

const page = "docs/integrating.md"
const files = Guide.filesOf(Guide.read(page))
const fileOf = (name: string): string => files.get(name) ?? expect.fail(`${page} has no ${name}`)

const redirectUri = "http://localhost:3000/callback"

const create = async (service: Service, role: string, email: string, password: string): Promise<Person> => {
  const names = { first_name: "Ada", last_name: "Lovelace" }
  const { body } = await operate(service, "POST", "/users", { role, email, password, ...names })
  return { ...body, password }
}

/** A service with the users of the guides and an application, and the settings of that application. */
const prepare = Effect.gen(function*() {
  const service = yield* makeService()
  return yield* Effect.promise(async () => {
    const platform = await create(service, "platform", "dev@example.org", "correct horse")
    const athlete = await create(service, "athlete", "ada@example.org", "battery staple")
    const application = { name: "Race Day", owner_id: platform.id, redirect_uris: [redirectUri] }
    const { body: client } = await operate(service, "POST", "/applications", application)
    const environment: Readonly<Record<string, string>> = {
      STARTLIST_URL: service.url,
      REDIRECT_URI: redirectUri,
      CLIENT_ID: String(client.client_id),
      CLIENT_SECRET: client.client_secret
    }
    return { athlete, client, environment, platform, service }
  })
})

/** Common interface of both modules. */
interface Module {
  readonly start: (scope?: string) => Promise<{ readonly url: string; readonly kept: unknown }>
  readonly finish: (back: URL, kept: unknown) => Promise<Tokens>
  readonly keep: (userId: number, tokens: Tokens) => Promise<unknown>
  readonly expire: (userId: number) => Promise<void>
  /** Runs a call in several parallel workers. */
  readonly accessTokens: (userId: number, workers: number) => Promise<ReadonlyArray<string | null | undefined>>
  readonly revoke: (token: string) => Promise<void>
  readonly serve: (verifyToken: string) => Promise<string>
  readonly know: (signingSecret: string) => Promise<void>
  readonly subscribe: (token: string, url: string, verifyToken: string) => Promise<void>
  /** Stored events: identifier and body. */
  readonly events: () => Promise<ReadonlyArray<readonly [id: string, body: string]>>
  /** Handles stored events, if that does not happen by itself. */
  readonly process: () => Promise<void>
  /** Handles an event about revoked access at this time, in whole seconds since 1970. */
  readonly forget: (userId: number, eventTime: number) => Promise<void>
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly created_at: number
  readonly expires_in: number
  /** The user's number at the service. */
  readonly user_id: number
}

type Prepared = Effect.Effect.Success<typeof prepare>

/** The same test for both languages. */
const story = async ({ athlete, client, platform, service }: Prepared, module: Module) => {
  const connect = async (person: Person) => {
    const { kept, url } = await module.start()
    return module.finish(await consent(url, person), kept)
  }

  const { kept, url } = await module.start()
  await expect(module.finish(await consent(url, athlete, "deny"), kept)).rejects.toThrow("access_denied")
  const foreign = new URL(`${redirectUri}?code=theirs&state=theirs`)
  await expect(module.finish(foreign, kept)).rejects.toThrow("does not belong to this session")
  const tokens = await connect(athlete)
  expect(await athleteStatus(service, tokens.access_token)).toBe(200)
  await module.keep(athlete.id, tokens)
  expect(await module.accessTokens(athlete.id, 1)).toEqual([tokens.access_token])

  await module.expire(athlete.id)
  const fresh = await module.accessTokens(athlete.id, 8)
  expect(new Set(fresh).size).toBe(1)
  expect(fresh[0]).not.toBe(tokens.access_token)
  expect(await athleteStatus(service, fresh[0] ?? "")).toBe(200)

  const verifyToken = "nous seuls le connaissons déjà"
  const callbackUrl = await module.serve(verifyToken)
  const { access_token: owner } = await connect(platform)
  await expect(module.subscribe(owner, callbackUrl, "something else")).rejects.toThrow()
  await module.subscribe(owner, callbackUrl, verifyToken)
  const signingSecret = await revealSigningSecret(service, client, platform)
  await module.know(signingSecret)
  const registration = await createRegistration(service, { athlete_id: athlete.id })
  expect(await changeRegistration(service, registration, { registration_status: "validated" })).toBe(200)
  const [[id, body] = ["", ""]] = await eventually(module.events, ({ length }) => length > 0)
  expect(JSON.parse(body)).toMatchObject({ object_id: registration, updates: { registration_status: "validated" } })

  const forge = async (timestamp: string, signature: string, body = "{}", id = "evt_forged") => {
    const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature }
    // A server may close the connection of a body that it does not read.
    return await fetch(callbackUrl, { method: "POST", headers, body }).then(({ status }) => status, () => 413)
  }
  const now = String(Math.floor(Date.now() / 1000))
  expect(await forge(now, "v1,AAAA")).toBe(401)
  expect(await forge(now, "v1,é")).toBe(401)
  expect(await forge("9".repeat(5000), "v1,AAAA")).toBe(401)
  expect(await forge(now, "v1,AAAA", "x".repeat(1_100_000))).toBe(413)
  const [delivery] = (await operate(service, "GET", "/deliveries")).body.deliveries
  await operate(service, "POST", `/deliveries/${delivery.id}/redeliver`)
  const settled = async () =>
    (await operate(service, "GET", "/deliveries?state=delivered")).body.deliveries.length === 2
  await eventually(settled, (isSettled) => isSettled)
  expect((await module.events()).map(([id]) => id)).toEqual([id])

  await module.revoke(fresh[0] ?? "")
  expect(await athleteStatus(service, fresh[0] ?? "")).toBe(401)
  await module.expire(athlete.id)
  const none = await module.accessTokens(athlete.id, 2)
  expect(none.map((token) => token ?? null)).toEqual([null, null])

  // A late event about revoked access ends no newer connection. The next one ends this one.
  const connected = await connect(athlete)
  expect(connected.user_id).toBe(athlete.id)
  await module.keep(athlete.id, connected)
  await module.forget(athlete.id, connected.created_at - 1)
  await module.forget(platform.id, connected.created_at + 1)
  expect(await module.accessTokens(athlete.id, 1)).toEqual([connected.access_token])
  // A second window of the user has older tokens, which the service has superseded.
  await module.keep(athlete.id, { ...connected, access_token: "older", created_at: connected.created_at - 1 })
  expect(await module.accessTokens(athlete.id, 1)).toEqual([connected.access_token])
  await operate(service, "POST", `/users/${athlete.id}/revocations`, { client_id: client.client_id })
  const stored = async () => {
    await module.process()
    return (await module.accessTokens(athlete.id, 1))[0] ?? null
  }
  await eventually(stored, (token) => token === null)

  // The event of the guide that is signed by hand. It has no sequence.
  const byHand = `{"object_type":"registration","object_id":${registration}}`
  const key = Buffer.from(signingSecret.replace("whsec_", ""), "base64")
  const signed = createHmac("sha256", key).update(`evt_by_hand.${now}.${byHand}`).digest("base64")
  expect(await forge(now, `v1,${signed}`, byHand, "evt_by_hand")).toBe(200)
  await module.process()

  const limit = (requestsPerMinute: number | null) =>
    operate(service, "POST", `/applications/${client.client_id}/limit`, { requests_per_minute: requestsPerMinute })
  await limit(1)
  await module.revoke("a token that nobody has")
  await expect(module.revoke("a token that nobody has")).rejects.toThrow("429")
  await limit(null)

  // A wrong secret of the application must not remove a user's tokens.
  await module.keep(athlete.id, await connect(athlete))
  await module.expire(athlete.id)
  await operate(service, "POST", `/applications/${client.client_id}/secrets`, { overlap_seconds: 0 })
  for (const _ of ["once", "and again"]) {
    await expect(module.accessTokens(athlete.id, 1)).rejects.toThrow("invalid_client")
  }
}

/** The client package over PostgreSQL, as several workers would use it. */
const typescript = (environment: Readonly<Record<string, string>>): Effect.Effect<Module, never, Scope.Scope> =>
  Effect.gen(function*() {
    const server = yield* TestServer.make()
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => new Pool({ connectionString: server.url })),
      (made) => Effect.promise(() => made.end())
    )
    // `end` of pg's pool does not wait for its connections' last byte, so the server may still end one of them.
    pool.on("error", () => {})
    yield* Effect.promise(() => pool.query(Postgres.tables))
    const { CLIENT_ID = "", CLIENT_SECRET = "", REDIRECT_URI = "", STARTLIST_URL = "" } = environment
    const client = createClient({
      url: STARTLIST_URL,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      redirectUri: REDIRECT_URI
    })
    const store = Postgres.postgresTokens(pool)
    let signingSecret = ""
    const callbacks = createServer()
    yield* Effect.addFinalizer(() => Effect.sync(() => callbacks.close()))
    const handled: Array<readonly [id: string, body: string]> = []
    const module: Module = {
      start: async () => {
        const { keep, url } = await client.authorize({ scope: "profile:read read" })
        return { url, kept: keep }
      },
      finish: async (back, kept) => {
        const { accessToken, createdAt, expiresAt, refreshToken, userId } = await client.finish(
          back,
          kept as Authorization["keep"]
        )
        return {
          access_token: accessToken,
          refresh_token: refreshToken,
          created_at: createdAt,
          expires_in: Math.round((expiresAt - Date.now()) / 1000),
          user_id: userId
        }
      },
      keep: (userId, tokens) =>
        client.tokens(store).connect(String(userId), {
          accessToken: tokens.access_token,
          refreshToken: tokens.refresh_token,
          expiresAt: Date.now() + tokens.expires_in * 1000,
          createdAt: tokens.created_at,
          userId: tokens.user_id,
          scope: undefined
        }),
      expire: async (userId) => {
        const found = await store.load(String(userId))
        if (found === undefined) return
        await store.save(String(userId), { ...found, revision: `${found.revision}.`, expiresAt: 0 }, found.revision)
      },
      accessTokens: (userId, workers) =>
        Promise.all(
          Array.from({ length: workers }, () =>
            client.tokens(store).accessFor(String(userId)).catch((error) => {
              if (error instanceof ConnectAgain) return undefined
              throw error
            }))
        ),
      revoke: client.revoke,
      serve: (verifyToken) =>
        new Promise((resolve) => {
          const inbox = client.inbox({
            store: Postgres.postgresEvents(pool),
            verifyToken,
            signingSecrets: () => [signingSecret],
            handle: async (event) => {
              if (event.type === "access.revoked") await client.tokens(store).forget(event)
              if (event.type !== "registration.changed") return
              const { registrationId, updates } = event
              handled.push([event.id, JSON.stringify({ object_id: registrationId, updates })])
            }
          })
          callbacks.on("request", inbox.node)
          callbacks.listen(0, "127.0.0.1", () => {
            const address = callbacks.address()
            resolve(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/callback`)
          })
        }),
      know: async (secret) => {
        signingSecret = secret
      },
      subscribe: client.subscribe,
      events: async () => handled,
      process: async () => {},
      forget: async (userId, eventTime) => {
        const received = { id: "evt_late", sequence: 1, isLate: true, subscriptionId: 1 }
        const time = new Date(eventTime * 1000)
        await client.tokens(store).forget({ ...received, type: "access.revoked", role: "athlete", userId, time })
      }
    }
    return module
  })

/** A Python process with the module. */
const worker = (folder: string, environment: Readonly<Record<string, string>>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const calls = fileURLToPath(new URL("support/calls.py", import.meta.url))
        const args = ["-B", calls, folder, join(folder, "database.sqlite")]
        return spawn("python3", args, {
          env: { PATH: process.env["PATH"] ?? "", ...environment },
          stdio: ["pipe", "pipe", "inherit"]
        })
      }),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    ),
    (child) => {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      // The result has the module's own type.
      // oxlint-disable-next-line typescript/no-explicit-any
      return async (name: string, ...args: ReadonlyArray<unknown>): Promise<any> => {
        child.stdin.write(`${JSON.stringify([name, args])}\n`)
        const { value: line } = await lines.next()
        const answer = JSON.parse(line ?? "{\"error\":\"Python has ended\"}")
        if ("error" in answer) throw new Error(answer.error)
        return answer.value
      }
    }
  )

const python = (environment: Readonly<Record<string, string>>): Effect.Effect<Module, never, Scope.Scope> =>
  Effect.gen(function*() {
    const folder = yield* CleanCopy.emptyFolder("python")
    copyFileSync(join(CleanCopy.repository, "examples/python/startlist.py"), join(folder, "startlist.py"))
    const call = yield* worker(folder, environment)
    const others = yield* Effect.all(Array.from({ length: 3 }, () => worker(folder, environment)))
    const all = [call, ...others]
    return {
      start: async () => {
        const kept = await call("start_authorization")
        return { url: kept.url, kept }
      },
      finish: (back, kept) => {
        const { state, verifier } = Object(kept)
        return call("finish_authorization", back.href, state, verifier)
      },
      keep: (userId, tokens) => call("keep", userId, tokens),
      expire: (userId) => call("forget_expiry", userId),
      accessTokens: (userId, workers) =>
        Promise.all(
          Array.from({ length: Math.min(workers, all.length) }, (_, i) => (all[i] ?? call)("access_token", userId))
        ),
      revoke: (token) => call("revoke", token),
      serve: (verifyToken) => call("serve", verifyToken),
      know: (secret) => call("know", secret),
      subscribe: (token, url, verifyToken) => call("subscribe", token, url, verifyToken),
      events: () => call("events"),
      process: () => call("process"),
      forget: (userId, eventTime) => call("forget", { object_id: userId, event_time: eventTime })
    }
  })

const hasPython = succeeds("python3", "-c", "import sqlite3")

describe(page, () => {
  const application = fileOf("app.mjs")

  it("has an application of at most 30 lines", () => {
    expect(application.trim().split("\n").length).toBeLessThanOrEqual(30)
  })

  it.scopedLive(
    "has an application that connects a user in a browser, and prints events",
    () =>
      Effect.gen(function*() {
        const { athlete, client, environment, platform, service } = yield* prepare
        const port = yield* Effect.promise(freePort)
        const origin = `http://localhost:${port}`
        const folder = yield* CleanCopy.emptyFolder("application")
        writeFileSync(join(folder, "app.mjs"), application.replaceAll(/(localhost:|listen\()3000/g, `$1${port}`))
        symlinkSync(join(CleanCopy.repository, "node_modules"), join(folder, "node_modules"))
        const app = yield* Effect.acquireRelease(
          Effect.sync(() =>
            spawn(process.execPath, ["--conditions=@startlist/source", "--import", "tsx", "app.mjs"], {
              cwd: folder,
              env: {
                PATH: process.env["PATH"] ?? "",
                ...environment,
                SERVICE: service.url,
                SIGNING_SECRET: client.signing_secret
              }
            })
          ),
          (child) => Effect.sync(() => child.kill("SIGKILL"))
        )
        let said = ""
        app.stdout.setEncoding("utf8").on("data", (text: string) => said += text)
        app.stderr.setEncoding("utf8").on("data", (text: string) => said += text)
        yield* Effect.promise(async () => {
          await expect.poll(() => said).toContain("listens on")
          const { headers } = await fetch(`${origin}/connect`, { redirect: "manual" })
          const cookie = headers.get("set-cookie")?.split(";")[0] ?? ""
          const back = await consent(headers.get("location") ?? "", athlete)
          const shown = await fetch(back, { headers: { cookie } })
          expect(await shown.json()).toMatchObject({ first_name: "Ada" })
          const stranger = await (await fetch(back)).text()
          expect(stranger).toContain("does not belong to this session")
          const { access_token } = await obtainTokens(service, client, platform, { redirect_uri: `${origin}/callback` })
          expect((await subscribe(service, access_token, `${origin}/events`)).status).toBe(422)
          const own = await fetch(`${service.url}/api/v1/webhook_subscription`, {
            method: "POST",
            headers: { authorization: `Bearer ${access_token}`, "content-type": "application/json" },
            body: JSON.stringify({
              webhook_subscription: { callback_url: `${origin}/events`, verify_token: "something only you know" }
            })
          })
          expect(own.status).toBe(201)
          const registration = await createRegistration(service, { athlete_id: athlete.id })
          await changeRegistration(service, registration, { registration_status: "validated" })
          await expect.poll(() => said).toContain("registration.changed")
        })
      })
  )

  it.scopedLive("works with the client package: eight parallel workers refresh once", () =>
    Effect.gen(function*() {
      const prepared = yield* prepare
      const module = yield* typescript(prepared.environment)
      yield* Effect.promise(() => story(prepared, module))
    }))

  it.scopedLive.skipIf(!hasPython)(
    "works in Python: four parallel processes refresh once (needs python3)",
    () =>
      Effect.gen(function*() {
        const prepared = yield* prepare
        const module = yield* python(prepared.environment)
        yield* Effect.promise(() => story(prepared, module))
      })
  )
})
