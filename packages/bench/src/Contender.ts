/** The servers that are compared: each is a process of its own, on a core of its own where that can be had. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"

/** What a server says of itself when it listens. */
export interface Ready {
  readonly port: number
  readonly clientId: number
  readonly clientSecret: string
  /** One for each connection. */
  readonly refreshTokens: ReadonlyArray<string>
  readonly accessToken: string
}

/** How many connections are kept busy. */
export const connections = 64

const canPin = availableParallelism() > 1 && spawnSync("taskset", ["--version"]).status === 0

/** Starts `servers/<name>.js` and waits until it listens. */
export const start = (name: string): Promise<{ readonly ready: Ready; readonly stop: () => void }> =>
  new Promise((resolve, reject) => {
    const node = [process.execPath, fileURLToPath(new URL(`./servers/${name}.js`, import.meta.url))]
    const [command = "", ...args] = canPin ? ["taskset", "-c", "1", ...node] : node
    const child: ChildProcess = spawn(command, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] })
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`${name} ended with ${code}`)))
    child.once("message", (message: Ready) => resolve({ ready: message, stop: () => child.kill() }))
  })

/** Said by a server when it listens. */
export const announce = (ready: Ready): void => {
  process.send?.(ready)
}
