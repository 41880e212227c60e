/** Processes bound to cores: the load on the first, the measured program on the last. */
import { type ChildProcess, spawn, type SpawnOptions, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Cleanup from "./Cleanup.ts"

const cores = availableParallelism()

/** Whether processes are bound to cores, which needs two cores and `taskset`. */
export const isPinned: boolean = cores > 1 && spawnSync("taskset", ["--version"]).status === 0

/** The cores that a process may use. */
export type Place = "load" | "measured" | "anywhere"

const coresOf: Readonly<Record<Place, string>> = {
  load: "0",
  measured: String(cores - 1),
  anywhere: `0-${cores - 1}`
}

/** Spawns a program on these cores. It is killed at the end of the run at the latest. */
export const spawnAt = (
  place: Place,
  command: string,
  args: ReadonlyArray<string>,
  options: SpawnOptions
): { readonly child: ChildProcess; readonly stop: (signal: NodeJS.Signals) => Promise<void> } => {
  const [program = "", ...rest] = isPinned
    ? ["taskset", "-c", coresOf[place], command, ...args]
    : [command, ...args]
  const child = spawn(program, rest, options)
  const exited = once(child, "exit").catch(() => {})
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
    child.kill(signal)
    const impatience = setTimeout(() => child.kill("SIGKILL"), 10_000)
    await exited
    clearTimeout(impatience)
  }
  const undo = Cleanup.onEnd(() => end("SIGTERM"))
  return { child, stop: (signal) => end(signal).then(undo) }
}

/** Binds this process to the core of the load. */
export const becomeLoad = (): void => {
  if (isPinned) spawnSync("taskset", ["-acp", coresOf.load, String(process.pid)])
}

/** A running program of this package. */
export interface Running<Ready> {
  readonly pid: number
  /** Its message when it was ready. */
  readonly ready: Ready
  /** Asks a question. Only one at a time. */
  readonly ask: <Answer>(question: object) => Promise<Answer>
  readonly stop: () => Promise<void>
}

const isSource = import.meta.url.endsWith(".ts")

/** Tests run the sources. */
const flags = isSource ? ["--import", "tsx", "--conditions=@startlist/source"] : ["--conditions=@startlist/built"]

/** Makes every later program write a CPU profile into this folder when it ends. */
export const profileInto = (folder: string): void => {
  flags.push("--cpu-prof", `--cpu-prof-dir=${folder}`)
}

/** Starts a program of this package (`servers/Raw`), or of another build of it, and waits until it is ready. */
export const start = async <Ready>(
  program: string,
  args: ReadonlyArray<string>,
  place: Place = "measured",
  { build, env, node = process.execPath }: {
    readonly build?: string | undefined
    /** Variables in addition to the environment of the run. */
    readonly env?: Readonly<Record<string, string>>
    readonly node?: string | undefined
  } = {}
): Promise<Running<Ready>> => {
  const file = build === undefined
    ? fileURLToPath(new URL(`./${program}.${isSource ? "ts" : "js"}`, import.meta.url))
    : join(build, `${program}.js`)
  const { child, stop } = spawnAt(place, node, [...flags, file, ...args], {
    env: { ...process.env, NODE_ENV: "production", ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"]
  })
  const heard = <Message>(): Promise<Message> =>
    new Promise((resolve, reject) => {
      const ended = (code: number | null) => reject(new Error(`${program} ended with ${code}`))
      child.once("exit", ended)
      child.once("message", (message: { readonly said: Message } | { readonly failed: string }) => {
        child.off("exit", ended)
        if ("failed" in message) reject(new Error(`${program}: ${message.failed}`))
        else resolve(message.said)
      })
    })
  const ready = await heard<Ready>()
  return {
    pid: child.pid ?? 0,
    ready,
    ask: (question) => {
      const answer = heard<never>()
      child.send(question)
      return answer
    },
    stop: () => stop("SIGTERM")
  }
}

/** Resident memory of a process in MB, if the system provides it. */
export const residentMegabytes = (pid: number): number => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}
