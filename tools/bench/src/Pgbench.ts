/** `pgbench`, if it is installed: the limit for statements that run one after another. */
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Cleanup from "./Cleanup.ts"
import type { Contender } from "./Contender.ts"
import * as Database from "./Database.ts"
import { latencyOf } from "./Measurement.ts"
import { spawnAt } from "./Process.ts"

/** Finds it in the path, or in Debian's folder. */
const find = (): string | undefined => {
  if (spawnSync("pgbench", ["--version"]).status === 0) return "pgbench"
  const versions = "/usr/lib/postgresql"
  if (!existsSync(versions)) return undefined
  return readdirSync(versions)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(versions, version, "bin", "pgbench"))
    .find((path) => existsSync(path))
}

const program = find()

export const version = (): string | undefined =>
  program === undefined ? undefined : String(spawnSync(program, ["--version"]).stdout).trim()

/** The contender, or none without `pgbench`. */
export const contender = (options: {
  readonly name: string
  readonly callers: number
  /** Prepared statements. Each must return one row (`\gset`), or the run fails. */
  readonly script: string
  readonly variables?: Readonly<Record<string, number>>
  readonly prepare: (database: Database.Fresh) => Promise<void>
}): ReadonlyArray<Contender> => {
  const { callers, name, prepare, script, variables = {} } = options
  if (program === undefined) return []
  return [{
    name: `pgbench: ${name}`,
    role: "limit",
    measure: async ({ seconds }) => {
      const database = await Database.fresh()
      const { path, remove } = Cleanup.temporaryFolder()
      try {
        await prepare(database)
        writeFileSync(join(path, "script.sql"), script)
        const args = [
          ["-n", "-M", "prepared", "-c", String(callers), "-j", "1", "-T", String(Math.ceil(seconds) + 1)],
          Object.entries(variables).flatMap(([variable, value]) => ["-D", `${variable}=${value}`]),
          ["-f", "script.sql", "--log", "--log-prefix", "log", "--sampling-rate", "0.1", database.url]
        ].flat()
        const { child } = spawnAt("load", program, args, { cwd: path, stdio: ["ignore", "pipe", "pipe"] })
        let said = ""
        child.stdout?.on("data", (chunk) => said += String(chunk))
        child.stderr?.on("data", (chunk) => said += String(chunk))
        const [code] = await once(child, "close")
        const rate = /tps = ([\d.]+)/.exec(said)?.[1]
        if (code !== 0 || rate === undefined || said.includes("aborted")) throw new Error(`pgbench: ${said}`)
        const samples = readdirSync(path)
          .filter((file) => file.startsWith("log."))
          .flatMap((file) => readFileSync(join(path, file), "utf8").trim().split("\n"))
          .map((line) => Number(line.split(" ")[2]) / 1000)
        return { perSecond: Number(rate), latency: latencyOf(samples) }
      } finally {
        await remove()
        await database.drop()
      }
    }
  }]
}
