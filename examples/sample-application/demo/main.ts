/**
 * `npm run demo`: the service with demonstration data in a folder that is thrown away, and the sample application beside
 * it. One link to click. Ctrl-C ends both. `PORT` and `SERVICE_PORT` choose where they listen.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "./FreePort.ts"
import { type Program, start } from "./Program.ts"
import * as Scene from "./Scene.ts"

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const title = (text: string, lines: ReadonlyArray<string>) => ["", text, ...lines.map((line) => `  ${line}`)]

const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("   ").trimEnd())
}

const screen = (sampleUrl: string, serviceUrl: string): string =>
  [
    ...title("Open this link and go through the steps:", [sampleUrl]),
    ...title(
      "Accounts",
      columns([
        ["who", "role", "e-mail", "password"],
        ...Scene.people.map(({ email, name, password, role }) => [name, role, email, password])
      ])
    ),
    ...title("The platform itself", [
      `${serviceUrl}/account/applications     what an athlete has authorised`,
      `${serviceUrl}/developer/applications   the owner's application and its events`,
      `${serviceUrl}/docs                     the interface`
    ]),
    "",
    "Everything is in a temporary folder and is gone at the end. Ctrl-C ends it.",
    ""
  ].join("\n")

/** The configured port, or a free one. */
const portOf = async (name: string, otherwise: number): Promise<number> => {
  const asked = process.env[name]
  if (asked === undefined || asked === "") return freePort(otherwise)
  const port = Number(asked)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`${name} is not a number from 1 to 65535`)
  if (await freePort(port) !== port) throw new Error(`${name}: ${port} is already in use. Choose another port.`)
  return port
}

const run = async (folder: string, programs: Array<Program>): Promise<void> => {
  const servicePort = await portOf("SERVICE_PORT", 8080)
  const service = start("the service", [at("../../../packages/node/dist/program/startlist.js"), "serve"], {
    env: {
      HOST: "127.0.0.1",
      PORT: String(servicePort),
      AUTH_URL: `http://127.0.0.1:${servicePort}`,
      DATA_DIR: folder,
      LOG_FORMAT: "json"
    }
  })
  programs.push(service)
  const serviceUrl = await service.says(/listens on (http:\/\/[^;\s"]+);/)

  const samplePort = await portOf("PORT", 3000)
  const sampleUrl = `http://localhost:${samplePort}`
  const scene = await Scene.set(serviceUrl, folder, `${sampleUrl}/callback`)
  const sample = start("the sample application", ["--conditions=@startlist/source", "--import", "tsx", "src/main.ts"], {
    env: {
      PORT: String(samplePort),
      STARTLIST_URL: serviceUrl,
      CLIENT_ID: String(scene.clientId),
      CLIENT_SECRET: scene.clientSecret,
      SIGNING_SECRET: scene.signingSecret,
      DEMONSTRATION: JSON.stringify(scene.demonstration)
    }
  })
  programs.push(sample)
  console.log(screen(await sample.says(/listens on (\S+)/), serviceUrl))
  await Promise.race(programs.map((program) => program.failed))
}

const folder = await mkdtemp(join(tmpdir(), "startlist-demo-"))
const programs: Array<Program> = []

/** The first signal ends the demonstration. The programs get their own signals. */
const asked = new Promise<void>((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => resolve())
})

try {
  await Promise.race([run(folder, programs), asked])
} catch (error) {
  console.error(`The demonstration cannot go on: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  // One after the other, so that a program that is just starting is stopped, too.
  for (const program of programs) await program.stop()
  await rm(folder, { recursive: true, force: true })
}
process.exit()
