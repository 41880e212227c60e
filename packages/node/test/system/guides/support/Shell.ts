/**
 * Runs the commands of a page, in order, in one shell, as a person would type them. `bash` stops at the first that fails.
 *
 * What differs from a person's machine: the service is on a free port instead of 8080, an application instead of 3000, the database is one of the test's,
 * `npm ci` does nothing (the copy of the repository that is worked in has its packages), and `not-run` blocks are left out.
 */
import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { freePort } from "@startlist/test-support/FreePort"
import type { Step } from "./Guide.ts"

const writeProgram = (folder: string, name: string, lines: ReadonlyArray<string>): void => {
  writeFileSync(join(folder, name), `${["#!/bin/bash", ...lines].join("\n")}\n`)
  chmodSync(join(folder, name), 0o755)
}

/** Programs that stand before those of the machine. */
const makePrograms = (folder: string, program: string): void => {
  const node = JSON.stringify(process.execPath)
  mkdirSync(folder)
  writeProgram(folder, "startlist", [`exec ${node} ${program} "$@"`])
  writeProgram(folder, "npm", [
    "if [ \"$1\" = ci ]; then exit 0; fi",
    `export PATH="\${PATH#*${delimiter}}"`,
    "exec npm \"$@\""
  ])
}

const background = (text: string, line: number): string => `
{ ${text.trimEnd()}
} >"$LOGS/${line}" 2>&1 &
STARTED+=($!)
for _ in $(seq 600); do
  if curl -s -o /dev/null --fail "http://127.0.0.1:$PORT/readyz"; then break; fi
  if ! kill -0 $! 2>/dev/null; then cat "$LOGS/${line}" >&2; exit 1; fi
  sleep 0.1
done
`

/** How the guides write the database of several nodes. */
const database = "postgres://startlist:secret@127.0.0.1:5432/startlist"

/** All blocks as one script. `$LINE` says which one failed. */
const toScript = (steps: ReadonlyArray<Step>, applicationPort: number): string => {
  const commands = steps.map((step) => {
    if (step.kind === "run") return `at ${step.line}\n${step.text}`
    if (step.kind === "background") return `at ${step.line}\n${background(step.text, step.line)}`
    if (step.kind === "file") return `at ${step.line}\ncat > ${step.file} <<'END_OF_FILE'\n${step.text}END_OF_FILE\n`
    return ""
  })
  return `set -euo pipefail
STARTED=()
at() { LINE=$1; echo "line $LINE" >&2; }
end() {
  status=$?
  if [ $status -ne 0 ]; then echo "the block at line $LINE failed" >&2; tail -n 20 "$LOGS"/* >&2; fi
  for started in "\${STARTED[@]}"; do
    kill -TERM -- "-$started" 2>/dev/null || true
    wait "$started" 2>/dev/null || true
  done
  kill $(jobs -p) 2>/dev/null || true
  exit $status
}
trap end EXIT
set -m
${
    commands.join("\n").replaceAll("127.0.0.1:8080", "127.0.0.1:$PORT").replaceAll("--port 8080", "--port $PORT")
      .replaceAll(/(localhost:|listen\()3000/g, `$1${applicationPort}`).replaceAll(database, "$DATABASE")
  }`
}

export interface Surroundings {
  /** Where the commands are run. */
  readonly folder: string
  /** A folder for what is needed beside; it must be empty. */
  readonly beside: string
  /** The file that `startlist` is. */
  readonly program: string
  readonly environment: Readonly<Record<string, string>>
}

/** Milliseconds that the blocks of a page may take. */
const patience = 240_000

/** Runs the blocks; answers what they said, or fails with it. */
export const run = async (steps: ReadonlyArray<Step>, surroundings: Surroundings): Promise<string> => {
  const { beside, environment, folder, program } = surroundings
  const programs = join(beside, "bin")
  const logs = join(beside, "logs")
  makePrograms(programs, program)
  mkdirSync(logs)
  const script = join(beside, "commands.sh")
  writeFileSync(script, toScript(steps, await freePort()))
  const port = environment["PORT"] ?? String(await freePort())
  const inherited = Object.fromEntries(
    ["HOME", "TMPDIR", "NODE_EXTRA_CA_CERTS"].flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    })
  )
  return await new Promise((resolve, reject) => {
    const child = spawn("bash", [script], {
      cwd: folder,
      env: {
        ...inherited,
        PATH: `${programs}${delimiter}${process.env["PATH"]}`,
        LOGS: logs,
        PORT: port,
        STARTLIST_URL: `http://127.0.0.1:${port}`,
        ...environment
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let said = ""
    // What hangs says where it was. Its output may stay open, so nobody waits for the end of that.
    const impatience = setTimeout(() => {
      child.kill("SIGTERM")
      reject(new Error(`hangs\n${said}`))
    }, patience)
    child.stdout.setEncoding("utf8").on("data", (text: string) => said += text)
    child.stderr.setEncoding("utf8").on("data", (text: string) => said += text)
    child.once("error", reject)
    child.once("close", (code) => {
      clearTimeout(impatience)
      if (code === 0) resolve(said)
      else reject(new Error(`status ${code}\n${said}`))
    })
  })
}
