/** Bundles, starts and prepares servers in other runtimes than that of the tests. */
import { build, type BuildOptions } from "esbuild"
import { spawn } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Embedding } from "@startlist/test-support/EmbeddedServer"
import { patience } from "@startlist/test-support/Patience"
import { outputOf } from "@startlist/test-support/RunProgram"
import type { Prepare } from "./Prepare.ts"

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** How to start a runtime, in a folder with the bundle. */
export interface Runtime {
  readonly name: "deno" | "bun" | "workerd"
  /** The module that serves, without extension. */
  readonly entry: string
  readonly args: ReadonlyArray<string>
  /** Files that it needs in addition to the bundle. */
  readonly files?: ReadonlyArray<string>
  /** `browser` allows no module of Node in the bundle. */
  readonly platform: "browser" | "node"
}

/** Bundles everything. */
const bundled = {
  bundle: true,
  format: "esm",
  target: "es2022",
  conditions: ["@startlist/source"],
  logLevel: "warning"
} as const satisfies BuildOptions

/** The binary. The first use downloads it. */
const binaryOf = async (name: string): Promise<string> =>
  (await outputOf(process.execPath, [here("../../../../../tools/scripts/runtimes.mjs"), name])).trim()

/** The port that a runtime prints: workerd on descriptor 3, the servers themselves on stdout. */
const portOf = /(?:"port":|127\.0\.0\.1:)(\d+)[\s}]/

/** Starts the server. Returns its origin, and a function that stops it. */
const launch = async ({ args, name }: Runtime, cwd: string) => {
  const child = spawn(await binaryOf(name), args, { cwd, stdio: ["ignore", "pipe", "pipe", "pipe"] })
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
  let said = ""
  const origin = await new Promise<string>((resolve, reject) => {
    const fail = () => {
      child.kill("SIGKILL")
      reject(new Error(`${name} did not start:\n${said}`))
    }
    const timer = setTimeout(fail, patience)
    child.once("error", reject).once("close", fail)
    for (const stream of child.stdio) {
      stream?.on("data", (chunk) => {
        said += String(chunk)
        const port = portOf.exec(said)?.[1]
        if (port === undefined) return
        clearTimeout(timer)
        resolve(`http://127.0.0.1:${port}`)
      })
    }
  })
  return {
    origin,
    stop: () => {
      child.kill("SIGKILL")
      return ended
    }
  }
}

/** Builds, starts and prepares a server. */
export const start = async (runtime: Runtime): Promise<Embedding & { readonly origin: string }> => {
  const cache = here("../../../../../node_modules/.cache/")
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, "runtime-"))
  const { entry, files = [], platform } = runtime
  await build({ ...bundled, entryPoints: [here(`${entry}.ts`)], outdir: folder, platform })
  for (const file of files) copyFileSync(here(file), join(folder, file))
  const { origin, stop } = await launch(runtime, folder)
  const ask = async (asked: Prepare) => {
    const response = await fetch(`${origin}/prepare`, { method: "POST", body: JSON.stringify(asked) })
    return await response.json()
  }
  return {
    origin,
    url: `${origin}/connect`,
    addUser: (...args) => ask({ call: "addUser", args }),
    startlist: {
      applications: { create: (...args) => ask({ call: "create application", args }) },
      registrations: {
        create: (...args) => ask({ call: "create registration", args }),
        change: (...args) => ask({ call: "change registration", args })
      },
      deliveries: { list: (...args) => ask({ call: "list deliveries", args }) }
    },
    close: async () => {
      await stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
