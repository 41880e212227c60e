/**
 * Runs the commands of pages in order in one shell. `bash` stops at the first failure.
 *
 * Differences from a real machine: free ports replace 8080, 8090 and 3000, the database is that of the test, `npm ci` does
 * nothing (the copy of the repository has its packages), and `not-run` blocks are omitted.
 */
import { spawn } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { basename, delimiter, join } from "node:path"
import { freePort } from "@startlist/test-support/FreePort"
import { patience } from "@startlist/test-support/Patience"
import type { Page, Step } from "./Guide.ts"

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

/** Starts the commands of a block, and waits until a server answers on the port that they name, else on that of the service. */
const background = (text: string, log: string): string => `
{ ${text.trimEnd()}
} >"$LOGS/${log}" 2>&1 &
STARTED+=($!)
for _ in $(seq 600); do
  if curl -s -o /dev/null --fail "http://127.0.0.1:${/--port (\d+)/.exec(text)?.[1] ?? "8080"}/readyz"; then break; fi
  if ! kill -0 $! 2>/dev/null; then cat "$LOGS/${log}" >&2; exit 1; fi
  sleep 0.1
done
`

/** The database URL in the guides. */
const database = "postgres://startlist:secret@127.0.0.1:5432/startlist"

const toCommands = (path: string, step: Step): string => {
  const at = `at ${path}:${step.line}\n`
  if (step.kind === "run") return at + step.text
  if (step.kind === "background") return at + background(step.text, `${basename(path)}:${step.line}`)
  if (step.kind === "file") return `${at}cat > ${step.file} <<'END_OF_FILE'\n${step.text}END_OF_FILE\n`
  return ""
}

/** All blocks of all pages as one script. `$PLACE` says which one failed. */
const toScript = (pages: ReadonlyArray<Page>, applicationPort: number, fakePort: number): string => {
  const commands = pages.flatMap(({ path, steps }) => steps.map((step) => toCommands(path, step)))
  return `set -euo pipefail
STARTED=()
at() { PLACE=$1; echo "$PLACE" >&2; }
end() {
  status=$?
  if [ $status -ne 0 ]; then echo "the block at $PLACE failed" >&2; tail -n 20 "$LOGS"/* >&2; fi
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
    commands.join("\n").replaceAll(/(127\.0\.0\.1:|--port )8080/g, "$1$PORT")
      .replaceAll(/(127\.0\.0\.1:|--port )8090/g, `$1${fakePort}`)
      .replaceAll(/(localhost:|listen\()3000/g, `$1${applicationPort}`).replaceAll(database, "$DATABASE")
  }`
}

export interface Surroundings {
  /** Working directory of the commands. */
  readonly folder: string
  /** An empty folder for temporary files. */
  readonly beside: string
  /** The file that the command `startlist` runs. */
  readonly program: string
  readonly environment: Readonly<Record<string, string>>
}

/** Runs the blocks. Returns their output, or fails with it. */
export const run = async (pages: ReadonlyArray<Page>, surroundings: Surroundings): Promise<string> => {
  const { beside, environment, folder, program } = surroundings
  const programs = join(beside, "bin")
  const logs = join(beside, "logs")
  makePrograms(programs, program)
  mkdirSync(logs)
  const script = join(beside, "commands.sh")
  writeFileSync(script, toScript(pages, await freePort(), await freePort()))
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
    // Report the output of a command that hangs, without waiting for its end.
    const impatience = setTimeout(() => {
      child.kill("SIGTERM")
      reject(new Error(`hangs\n${said}`))
    }, 3 * patience)
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
