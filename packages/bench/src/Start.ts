/** How long the service takes until it is ready, and how much memory it has then. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../node/dist/main.js", import.meta.url))

/** Milliseconds from the start of the process to its line, and its resident memory in MB where the system tells. */
const startOnce = async (dataDir: string): Promise<{ readonly millis: number; readonly megabytes: number }> => {
  const started = performance.now()
  const service = spawn(process.execPath, [program, "serve"], {
    env: { PATH: process.env["PATH"], PORT: "0", DATA_DIR: dataDir, LOG_FORMAT: "json" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  let output = ""
  for await (const chunk of service.stdout) {
    output += String(chunk)
    if (output.includes("listens on")) break
  }
  const millis = performance.now() - started
  const megabytes = residentMegabytes(service.pid)
  const exited = once(service, "exit")
  service.kill("SIGTERM")
  await exited
  if (!output.includes("listens on")) throw new Error(`the service did not start: ${output}`)
  return { millis, megabytes }
}

const residentMegabytes = (pid: number | undefined): number => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}

/** The first start in an empty folder, then a start over what is there. */
export const measure = async (rounds: number): Promise<void> => {
  console.log(`\nstart: the service with the embedded database until it is ready, ${rounds} rounds`)
  for (let round = 0; round < rounds; round++) {
    const folder = mkdtempSync(join(tmpdir(), "startlist-start-"))
    for (const kind of ["first", "again"]) {
      const { megabytes, millis } = await startOnce(join(folder, "data"))
      console.log(`  ${kind}  ${String(Math.round(millis)).padStart(6)} ms  ${Math.round(megabytes)} MB resident`)
    }
    rmSync(folder, { recursive: true, force: true })
  }
}
