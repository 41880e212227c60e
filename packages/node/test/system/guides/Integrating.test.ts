/** The page for developers of applications: its commands and its two modules are used against a real service. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { createServer } from "node:http"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath, pathToFileURL } from "node:url"
import { Pool } from "pg"
import { vi } from "vitest"
import * as TestServer from "@startlist/test-support/TestServer"
import * as CleanCopy from "@startlist/test-support/CleanCopy"
import { athleteStatus, consent, revealSigningSecret } from "@startlist/test-support/Consent"
import { changeRegistration, createRegistration, operate, type Person } from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { makeService, type Service } from "@startlist/test-support/ServiceProcess"
import * as Guide from "./support/Guide.ts"
import * as Shell from "./support/Shell.ts"

const page = "docs/integrating.md"
const files = Guide.filesOf(Guide.read(page))
const fileOf = (name: string): string => files.get(name) ?? expect.fail(`${page} has no ${name}`)

const redirectUri = "http://localhost:3000/callback"

const create = async (service: Service, role: string, email: string, password: string): Promise<Person> => {
  const names = { first_name: "Ada", last_name: "Lovelace" }
  const { body } = await operate(service, "POST", "/users", { role, email, password, ...names })
  return { ...body, password }
}

/** A service with the people of the guides and an application, and what the application is told of it. */
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

/** What both modules can do, each in its own way. */
interface Module {
  readonly start: (scope?: string) => Promise<{ readonly url: string; readonly kept: unknown }>
  readonly finish: (back: URL, kept: unknown) => Promise<Tokens>
  readonly keep: (userId: number, tokens: Tokens) => Promise<void>
  readonly expire: (userId: number) => Promise<void>
  /** Asked by so many workers at once. */
  readonly accessTokens: (userId: number, workers: number) => Promise<ReadonlyArray<string | null | undefined>>
  readonly revoke: (token: string) => Promise<void>
  readonly serve: (verifyToken: string) => Promise<string>
  readonly know: (signingSecret: string) => Promise<void>
  readonly subscribe: (token: string, url: string, verifyToken: string) => Promise<void>
  /** The stored events: identifier and body. */
  readonly events: () => Promise<ReadonlyArray<readonly [id: string, body: string]>>
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly created_at: number
  readonly expires_in: number
}

type Prepared = Effect.Effect.Success<typeof prepare>

/** One and the same story for both languages. */
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

  const callbackUrl = await module.serve("something only we know")
  const { access_token: owner } = await connect(platform)
  await expect(module.subscribe(owner, callbackUrl, "something else")).rejects.toThrow()
  await module.subscribe(owner, callbackUrl, "something only we know")
  await module.know(await revealSigningSecret(service, client, platform))
  const registration = await createRegistration(service, { athlete_id: athlete.id })
  expect(await changeRegistration(service, registration, { registration_status: "validated" })).toBe(200)
  const event = await vi.waitUntil(async () => (await module.events())[0], { timeout: 20_000 })
  expect(JSON.parse(event[1])).toMatchObject({ object_id: registration, updates: { registration_status: "validated" } })

  const forged = await fetch(callbackUrl, {
    method: "POST",
    headers: {
      "webhook-id": "evt_forged",
      "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
      "webhook-signature": "v1,AAAA"
    },
    body: "{}"
  })
  expect(forged.status).toBe(401)
  const [delivery] = (await operate(service, "GET", "/deliveries")).body.deliveries
  await operate(service, "POST", `/deliveries/${delivery.id}/redeliver`)
  const settled = async () =>
    (await operate(service, "GET", "/deliveries?state=delivered")).body.deliveries.length === 2
  await vi.waitUntil(settled, { timeout: 20_000 })
  expect((await module.events()).map(([id]) => id)).toEqual([event[0]])

  await module.revoke(fresh[0] ?? "")
  expect(await athleteStatus(service, fresh[0] ?? "")).toBe(401)
  await module.expire(athlete.id)
  const none = await module.accessTokens(athlete.id, 2)
  expect(none.map((token) => token ?? null)).toEqual([null, null])

  // That the application's own secret is wrong is no reason to forget anybody's tokens.
  await module.keep(athlete.id, await connect(athlete))
  await module.expire(athlete.id)
  await operate(service, "POST", `/applications/${client.client_id}/secrets`, { overlap_seconds: 0 })
  for (const _ of ["once", "and again"]) {
    await expect(module.accessTokens(athlete.id, 1)).rejects.toThrow("invalid_client")
  }
}

const compilerOptions = {
  target: "ES2022",
  lib: ["ES2022"],
  types: ["node"],
  module: "NodeNext",
  moduleResolution: "NodeNext",
  strict: true,
  noEmit: true
}

/** The module in a folder of its own, checked by the compiler. */
const typescript = (environment: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const folder = yield* CleanCopy.emptyFolder("typescript")
    const server = yield* TestServer.make()
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => new Pool({ connectionString: server.url })),
      (made) => Effect.promise(() => made.end())
    )
    // `end` of pg's pool does not wait for its connections' last byte, so the server may still end one of them.
    pool.on("error", () => {})
    yield* Effect.promise(async () => {
      symlinkSync(join(CleanCopy.repository, "node_modules"), join(folder, "node_modules"))
      writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
      writeFileSync(join(folder, "startlist.ts"), fileOf("startlist.ts"))
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["startlist.ts"] }))
      await CleanCopy.execute(folder, join(CleanCopy.repository, "node_modules/.bin/tsc"), ["-p", "."])
      await pool.query(fileOf("tables.sql"))
    })
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
    yield* Effect.addFinalizer(() => Effect.sync(() => vi.unstubAllEnvs()))
    const module = yield* Effect.promise(() => import(pathToFileURL(join(folder, "startlist.ts")).href))
    let signingSecret = ""
    const callbacks = createServer()
    yield* Effect.addFinalizer(() => Effect.sync(() => callbacks.close()))
    const adapted: Module = {
      start: async () => {
        const { keep, url } = module.startAuthorization()
        return { url, kept: keep }
      },
      finish: module.finishAuthorization,
      keep: (userId, tokens) => module.keep(pool, userId, tokens),
      expire: async (userId) =>
        void await pool.query("UPDATE startlist_tokens SET expires_at = 0 WHERE user_id = $1", [userId]),
      accessTokens: (userId, workers) =>
        Promise.all(Array.from({ length: workers }, () => module.accessToken(pool, userId))),
      revoke: module.revoke,
      serve: (verifyToken) =>
        new Promise((resolve) => {
          callbacks.on("request", module.callback(pool, verifyToken, () => signingSecret))
          callbacks.listen(0, "127.0.0.1", () => {
            const address = callbacks.address()
            resolve(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/callback`)
          })
        }),
      know: async (secret) => {
        signingSecret = secret
      },
      subscribe: module.subscribe,
      events: async () =>
        (await pool.query("SELECT id, body FROM startlist_events")).rows.map(({ body, id }) => [id, body])
    }
    return adapted
  })

/** One process of Python that has the module loaded. */
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
      // What comes back is the module's own.
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
    writeFileSync(join(folder, "startlist.py"), fileOf("startlist.py"))
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
      events: () => call("events")
    }
  })

const hasPython = spawnSync("python3", ["-c", "import sqlite3"]).status === 0

describe(page, () => {
  it.scopedLive("works with curl", () =>
    Effect.gen(function*() {
      const { environment, service } = yield* prepare
      const receiver = yield* makeReceiver
      const beside = yield* CleanCopy.emptyFolder("beside")
      const folder = join(beside, "work")
      yield* Effect.promise(async () => {
        mkdirSync(folder)
        symlinkSync(join(CleanCopy.repository, "node_modules"), join(folder, "node_modules"))
        const PORT = new URL(service.url).port
        const said = await Shell.run(Guide.read(page), {
          folder,
          beside,
          program: "",
          environment: { ...environment, PORT, CALLBACK_URL: receiver.url }
        })
        expect(said).toContain("\"first_name\":\"Ada\"")
        expect(receiver.received.map(({ method }) => method)).toEqual(["GET"])
      })
    }), 120_000)

  it.scopedLive("works in TypeScript: eight workers at once refresh once", () =>
    Effect.gen(function*() {
      const prepared = yield* prepare
      const module = yield* typescript(prepared.environment)
      yield* Effect.promise(() => story(prepared, module))
    }), 120_000)

  it.scopedLive.skipIf(!hasPython)(
    "works in Python: four processes at once refresh once (needs python3)",
    () =>
      Effect.gen(function*() {
        const prepared = yield* prepare
        const module = yield* python(prepared.environment)
        yield* Effect.promise(() => story(prepared, module))
      }),
    120_000
  )
})
