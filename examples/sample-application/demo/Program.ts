/** A program that Node runs beside this one. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

export interface Program {
  /** Waits for output that matches. Returns the first group. */
  readonly says: (pattern: RegExp) => Promise<string>
  /** Rejects if it ends before it is stopped. */
  readonly failed: Promise<never>
  /** Stops the program, and kills it if it does not stop. */
  readonly stop: () => Promise<void>
}

/** Timeouts in milliseconds for the start and the end of a program. */
const patience = { start: 60_000, end: 8000 }

/** Maximum number of characters of its output that are shown if it fails. */
const remembered = 4000

/** Variables that the program inherits. No settings: a demonstration must not touch a real database. */
const inherited = ["PATH", "HOME", "TMPDIR", "TEMP", "SystemRoot", "NODE_EXTRA_CA_CERTS"]

/** The sample application's own folder. */
const cwd = fileURLToPath(new URL("..", import.meta.url))

export const start = (
  name: string,
  args: ReadonlyArray<string>,
  { env }: { readonly env: Readonly<Record<string, string>> }
): Program => {
  const base = Object.fromEntries(inherited.flatMap((key) => {
    const value = process.env[key]
    return value === undefined ? [] : [[key, value]]
  }))
  const child = spawn(process.execPath, [...args], { cwd, env: { ...base, ...env }, stdio: ["ignore", "pipe", "pipe"] })
  let said = ""
  const listeners = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-remembered)
      for (const listen of listeners) listen()
    })
  }
  let stopping = false
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => resolve())
    child.once("error", (error) => {
      said += error.message
      resolve()
    })
  })
  const failed = ended.then(() => {
    if (stopping) return new Promise<never>(() => {})
    throw new Error(`${name} has ended.\n${said}`)
  })
  failed.catch(() => {})

  const says = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${name} does not start.\n${said}`)), patience.start)
      const listen = () => {
        const [, found] = pattern.exec(said) ?? []
        if (found === undefined) return
        clearTimeout(timer)
        listeners.delete(listen)
        resolve(found)
      }
      listeners.add(listen)
      listen()
    })

  return {
    says: (pattern) => Promise.race([says(pattern), failed]),
    failed,
    stop: async () => {
      stopping = true
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill("SIGTERM")
      const timer = setTimeout(() => child.kill("SIGKILL"), patience.end)
      await ended
      clearTimeout(timer)
    }
  }
}
