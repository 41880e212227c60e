/** Runs programs while the event loop of the test turns: vitest gives up a worker whose event loop stands still for a minute. */
import { spawn, type SpawnOptions, spawnSync } from "node:child_process"

export interface Ran {
  /** Exit status; null if a signal ended the program. */
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end. Rejects if it cannot be started. `input`: its standard input, by default empty. */
export const runProgram = (
  program: string,
  args: ReadonlyArray<string>,
  { input = "", ...options }: Pick<SpawnOptions, "cwd" | "env"> & { readonly input?: string } = {}
): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, options)
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text)
    child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text)
    child.once("error", reject).once("close", (status) => resolve({ status, stdout, stderr }))
    // A program may end without reading it.
    child.stdin.on("error", () => {}).end(input)
  })

/** The standard output of a program. Rejects if it fails. */
export const outputOf = async (...given: Parameters<typeof runProgram>): Promise<string> => {
  const { status, stderr, stdout } = await runProgram(...given)
  if (status !== 0) throw new Error(`${given[0]} ${given[1].join(" ")}: status ${status}\n${stderr}${stdout}`)
  return stdout
}

/** Whether a program exists and ends with status 0. For programs that end immediately: the event loop waits for them. */
export const succeeds = (program: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(program, args).status === 0

export const isInstalled = (program: string): boolean => succeeds(program, "--version")
