/** The service as a child process on a free port. */
import { Effect } from "effect"
import { type ChildProcess, execFileSync, spawn, type SpawnOptions } from "node:child_process"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { patience } from "./Patience.ts"
import { temporaryFolder } from "./TemporaryFolder.ts"

const packages = fileURLToPath(new URL("../../../packages/", import.meta.url))

/** Whether all packages of the service have been built since the last change of their sources. */
const isBuilt = ["client", "core", "dispatcher", "embed", "fake", "http", "node", "pages", "postgres"].every((name) => {
  const built = statSync(`${packages}${name}/dist/.tsbuildinfo`, { throwIfNoEntry: false })
  const sources = readdirSync(`${packages}${name}/src`, { recursive: true, encoding: "utf8" })
  return built !== undefined && sources.every((file) => statSync(`${packages}${name}/src/${file}`).mtime < built.mtime)
})

const fromSources = ["--import", "tsx", "--conditions=@startlist/source"]

/** The arguments of Node that run a program. */
export type Program = ReadonlyArray<string>

let bundled: Program | undefined

/** The bundled program. Its first use in a process builds it if sources have changed. */
export const startlist = (): Program => {
  if (bundled !== undefined) return bundled
  execFileSync(process.execPath, [`${packages}node/scripts/program.mjs`], { stdio: ["ignore", "ignore", "inherit"] })
  return bundled = [`${packages}node/dist/program/startlist.js`]
}

/** A program of the tests, with the built packages or their sources. */
export const testProgram = (file: URL): Program => [
  ...(isBuilt ? ["--import", "tsx", "--conditions=@startlist/built"] : fromSources),
  fileURLToPath(file)
]

export type Environment = Readonly<Record<string, string>>

/** The end of a process: its status, or the signal that ended it. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Spawned {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  readonly exit: Promise<Exit>
}

/** Only the variables that a process needs, so that settings of the test run do not reach the service. */
const inherited = (): Environment =>
  Object.fromEntries(
    ["PATH", "HOME", "TMPDIR", "NODE_EXTRA_CA_CERTS"].flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    })
  )

/** Starts `startlist`, or another program, with these arguments. */
export const spawnStartlist = (
  args: ReadonlyArray<string>,
  environment: Environment,
  program: Program = startlist(),
  { input, node = process.execPath, stdout: printed = "pipe", ...options }:
    & Pick<SpawnOptions, "cwd" | "gid" | "uid">
    & {
      /** The binary of Node; default the one of this process. */
      readonly node?: string
      /** Its standard input; default empty. */
      readonly input?: string
      /** A descriptor for its standard output. Default: a pipe that is read here. */
      readonly stdout?: number | "pipe" | undefined
    } = {}
): Spawned => {
  const child = spawn(node, [...program, ...args], {
    ...options,
    env: { ...inherited(), TSX_TSCONFIG_PATH: `${packages}pages/tsconfig.json`, ...environment },
    stdio: [input === undefined ? "ignore" : "pipe", printed, "pipe"]
  })
  child.stdin?.end(input)
  let stdout = ""
  let stderr = ""
  child.stdout?.setEncoding("utf8").on("data", (text: string) => stdout += text)
  child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr += text)
  const exit = new Promise<Exit>((resolve) => child.once("close", (code, signal) => resolve({ code, signal })))
  return { child, stdout: () => stdout, stderr: () => stderr, exit }
}

/** Runs one command to its end. */
export const runStartlist = async (args: ReadonlyArray<string>, environment: Environment = {}) => {
  const spawned = spawnStartlist(args, environment)
  const { code } = await spawned.exit
  return { code, stdout: spawned.stdout(), stderr: spawned.stderr() }
}

export interface Service extends Spawned {
  readonly url: string
  readonly dataDir: string
  readonly operatorToken: string
  /** Sends a signal and waits for the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<Exit>
}

const address = /listens on (http:\/\/[^;\s"]+);/

const started = (spawned: Spawned): Promise<string> =>
  new Promise((resolve, reject) => {
    const said = () => `\n${spawned.stdout()}${spawned.stderr()}`
    const timer = setTimeout(() => reject(new Error(`the service did not start:${said()}`)), patience)
    const look = () => {
      const [, url] = address.exec(spawned.stdout()) ?? []
      if (url === undefined) return
      clearTimeout(timer)
      resolve(url)
    }
    spawned.child.stdout?.on("data", look)
    spawned.exit.then(() => {
      clearTimeout(timer)
      reject(new Error(`the service ended at its start:${said()}`))
    })
  })

/** Starts the service and waits until it serves. The caller stops it. */
export const startService = async (
  environment: Environment & { readonly DATA_DIR: string },
  program?: Program,
  options?: Pick<SpawnOptions, "cwd" | "gid" | "uid"> & { readonly node?: string }
): Promise<Service> => {
  const spawned = spawnStartlist(["serve"], { PORT: "0", ...environment }, program, options)
  try {
    const url = await started(spawned)
    const dataDir = environment.DATA_DIR
    return {
      ...spawned,
      url,
      dataDir,
      operatorToken: environment["OPERATOR_TOKEN"] ?? readFileSync(join(dataDir, "operator-token"), "utf8").trim(),
      stop: (signal = "SIGTERM") => {
        spawned.child.kill(signal)
        return spawned.exit
      }
    }
  } catch (error) {
    spawned.child.kill("SIGKILL")
    throw error
  }
}

/** A service with its own data folder. Both are removed with the scope. */
export const makeService = (environment: Environment = {}) =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    return yield* Effect.acquireRelease(
      Effect.promise(() => startService({ DATA_DIR: folder, ...environment })),
      (service) => Effect.promise(() => service.stop("SIGKILL"))
    )
  })
