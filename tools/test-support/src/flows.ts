/**
 * `npm run flows`: the files of the packages that one act passes through, over PostgreSQL. A file counts if one of its
 * functions ran in each of several repetitions of the act.
 */
import { run as runCommand } from "@startlist/node/commands/CommandLine"
import * as Configuration from "@startlist/node/settings/Configuration"
import { run as runService } from "@startlist/node/Service"
import { Console, Deferred, Effect } from "effect"
import { Session } from "node:inspector/promises"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { athleteStatus, obtainTokens, refresh, type Tokens } from "./Consent.ts"
import { createApplication, createRegistration, createUser, operate, type Person } from "./Operator.ts"
import * as PostgresServer from "./PostgresServer.ts"

const packages = fileURLToPath(new URL("../../../packages/", import.meta.url))
const sources = /^[^/]+\/src\//
const repetitions = 4

const session = new Session()

/** The files with a function that ran since the last call. */
const ranSince = async (): Promise<ReadonlySet<string>> => {
  const { result } = await session.post("Profiler.takePreciseCoverage")
  return new Set(
    result
      // The first function of a script is the script itself.
      .filter(({ functions: [, ...own] }) => own.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
      .filter(({ url }) => url.startsWith("file:"))
      .map(({ url }) => relative(packages, fileURLToPath(url)))
      .filter((file) => sources.test(file))
  )
}

/** The files that every repetition of an act passes through. The first one is not counted: it loads modules. */
const filesOf = async (act: () => Promise<unknown>): Promise<ReadonlyArray<string>> => {
  await act()
  let files: ReadonlyArray<string> | undefined
  for (let round = 1; round < repetitions; round++) {
    await ranSince()
    await act()
    const ran = await ranSince()
    files = (files ?? [...ran]).filter((file) => ran.has(file))
  }
  return [...files ?? []].sort()
}

const folder = mkdtempSync(join(tmpdir(), "startlist-flows-"))
const server = await PostgresServer.make({ folder, settings: { fsync: "off" } })
try {
  const operatorToken = "an-operator-token-for-measurements-256-bits"
  const configuration = await Effect.runPromise(Configuration.decode({
    PORT: "0",
    DATABASE_URL: server.urlOf("postgres"),
    OPERATOR_TOKEN: operatorToken,
    MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
    LOG_LEVEL: "none"
  }, false))
  const listening = await Effect.runPromise(Deferred.make<string>())
  Effect.runFork(runService(configuration, (url) => Deferred.succeed(listening, url)))
  const service = { url: await Effect.runPromise(Deferred.await(listening)), operatorToken }

  const owner = await createUser(service, "platform")
  const client = await createApplication(service, owner, [])
  const athlete = await createUser(service, "athlete")
  await createRegistration(service, { athlete_id: athlete.id })
  let tokens: Tokens = await obtainTokens(service, client, athlete)
  const leaving: Array<Person> = []
  for (let number = 0; number < repetitions; number++) {
    const user = await createUser(service, "athlete")
    await createRegistration(service, { athlete_id: user.id })
    await obtainTokens(service, client, user)
    leaving.push(user)
  }

  await session.connect()
  await session.post("Profiler.enable")
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false })
  process.env["OPERATOR_TOKEN"] = operatorToken
  const command = (...args: ReadonlyArray<string>) =>
    Effect.runPromise(
      Console.consoleWith((console) =>
        Effect.withConsole(runCommand(["node", "startlist", ...args, "--url", service.url]), {
          ...console,
          log: () => Effect.void
        })
      )
    )
  const acts: Readonly<Record<string, () => Promise<unknown>>> = {
    refresh: async () => tokens = await (await refresh(service, client, tokens.refresh_token)).json(),
    "bearer check": () => athleteStatus(service, tokens.access_token),
    erasure: () => operate(service, "DELETE", `/users/${leaving.pop()?.id}`),
    "operator command": () => command("user", "list")
  }
  const isLong = process.argv.includes("--files")
  for (const [name, act] of Object.entries(acts)) {
    const files = await filesOf(act)
    console.log(`${name.padEnd(20)}${String(files.length).padStart(4)} files`)
    if (isLong) { for (const file of files) console.log(`  ${file}`) }
  }
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
